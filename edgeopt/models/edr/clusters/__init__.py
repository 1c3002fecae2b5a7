"""Routing in parts, clusters of sites or slots of a frame, that share one energy budget."""

from __future__ import annotations

from edgeopt.models.edr.clusters.partition import cluster_sites, merge_clusters, site_distance
from edgeopt.models.edr.clusters.price import Mix, Offer, common_price
from edgeopt.models.edr.clusters.solve import solve_clusters, solve_frame

__all__ = [
    "Mix",
    "Offer",
    "cluster_sites",
    "common_price",
    "merge_clusters",
    "site_distance",
    "solve_clusters",
    "solve_frame",
]
