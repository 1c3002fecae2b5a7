"""The JSON document of a study."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from edgeopt.studies.files import plain

if TYPE_CHECKING:
    from edgeopt.studies.results import Case, Study


def of_case(case: Case) -> dict[str, Any]:
    """Return what is written of one instance."""
    system, settings, name = case.system, case.settings, case.system.offline.reference
    over = "runs on this instance"
    others = {key: b.record() for key, b in case.benchmarks.items() if key != name}
    return {
        "system": system.name,
        "instance": {
            "name": case.name,
            "fingerprint": str(case.instance.fingerprint()),
            **system.instances.describe(case.instance),
        },
        "benchmark": {"name": name, **case.benchmark.record(), "others": others},
        "intervals": {"over": over, "runs": settings.runs, "confidence": settings.confidence},
        "policies": [{**row, "seed": settings.seed} for row in case.table.to_dict("records")],
        "claims": [verdict.as_dict() for verdict in case.verdicts],
        **({"trained": case.trained} if case.trained else {}),
    }


def dumps(study: Study, indent: int | None) -> str:
    """Write all instances of a study, one alone as an object."""
    records = [plain(case.record()) for case in study.cases]
    document = records[0] if len(records) == 1 else records
    return json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
