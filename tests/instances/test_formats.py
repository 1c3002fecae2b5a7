"""What files look like, and that what cannot be read says which way leads in."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from edgeopt.cli.main import run
from edgeopt.errors import InstanceError
from edgeopt.instances import Jobs, edr, look, rescue, tapfinger
from edgeopt.instances.idn import topology
from edgeopt.instances.traces import read_rows

NETWORK = '{"directed": false, "nodes": [{"id": 0}], "links": []}'
GRAPHML = '<?xml version="1.0"?>\n<!-- made --><graphml xmlns="x"><graph/></graphml>'
PHILLY = """[{"status": "Pass", "vc": "e", "jobid": "a1", "attempts": [{"start_time":
 "2017-10-07 01:12:09", "end_time": "2017-10-07 01:13:23", "detail": [{"ip": "m47",
 "gpus": ["gpu0"]}]}], "submitted_time": "2017-10-07 01:11:39", "user": "c"}]"""
OPENB = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\npod-0,12000,16384,1,1000,,LS,Running,0,900,0\n"
)
HELIOS = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
    "1,u,v,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0\n"
)
PAI = "job_name,inst_id,user,status,start_time,end_time\nab,cd,u,Terminated,1.0,20.0\n"
AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n"
    "2023-11-16 18:17:04.0319600,3180,8\n2023-11-16 18:17:09.0319600,3180,8\n"
)
LOADS = "date_time,demand (MW)\n" + "".join(f"2020-01-01 0{n}:00:00,{n}\n" for n in range(4))


@pytest.mark.parametrize(
    ("text", "what", "door"),
    [
        (OPENB, "a list of jobs (name, cpu_milli,", "Jobs.read(FILE, arrival='creation_time', "
         "start='scheduled_time', end='deletion_time', cpu='cpu_milli', gpu='num_gpu', "
         "state='pod_phase', units=...), then tapfinger.from_jobs or rescue.from_jobs"),
        (HELIOS, "a list of jobs (job_id,", "Jobs.read(FILE, arrival='submit_time', "
         "start='start_time', end='end_time', cpu='cpu_num', gpu='gpu_num', state='state'), then"),
        (PAI, "a list of jobs (job_name,", "Jobs.read(FILE, arrival='start_time', end='end_time', "
         "state='status', units=...), then"),
        (HELIOS.replace(",", ";"), "a list of jobs", "Jobs.read(pandas.read_csv(FILE, sep=';'), "),
        (PHILLY, "a list of jobs in JSON", "Jobs.read(pandas.json_normalize(data, "
         "'attempts', [...]), arrival='submitted_time', start='start_time', end='end_time', "),
        ("A3C\tcd x\t--max\t339\t1\t1\nLM\tcd y\t--n\t28\t0\t2\n",
         "a table without a heading, of 6",
         "name its columns, pandas.read_csv(FILE, sep='\\t', names=[...]), then Jobs.read"),
        (AZURE, "a log of what came when", "Jobs.read(FILE, arrival='TIMESTAMP'); counts(...)"),
        (LOADS, "a series by time (date_time", "its numbers, by slot, frame or hour, go into"),
        ("date,hour,HOEP\n31/01/2016,1,0.5\n31/01/2016,2,0.5\n", "a series by time", "its numbers"),
        (",worker,gpu,time,batch_time_norm\n0,0,25,1,476\n", "a table (worker, gpu,",
         "from_labelled"),
        ("task,value [min]\na,1\n", "the table of a field (task, value [min])",
         "--instance FOLDER"),
        ("name,LATITUDE,LONGITUDE\na,1,2\n", "positions", "traces.read_points(FILE)"),
        ("model,img_size,top1\nvit,448,90.0\n", "a table of models", "IdnInstance.from_graph"),
        ("a,b\nc,d\n", "a table (a, b)", "from_labelled"),
        (NETWORK, "a network in JSON", "IdnInstance.from_graph(networkx.node_link_graph(data)"),
        ('{"x": [1, 2]}', "JSON (x)", "make tables of it"),
        ("[1, 2]", "JSON (no names)", "make tables of it"),
        (GRAPHML, "a network in GraphML", "networkx.read_graphml(FILE)"),
        ("Creator x\ngraph [\n node [\n id 0\n ]\n]\n", "a network in GML",
         "networkx.read_gml(FILE"),
        ("<!DOCTYPE html><html><body/></html>", "a web page", "get the file itself"),
        ("<network/>", "XML (network)", "make tables of it"),
        ("", "an empty file", "get it anew"),
        ("Notes on this, that\nand more: a, b, c.\n", "text, not a table", "make a table of it"),
        ("version https://git-lfs.github.com/spec/v1\noid x\n",
         "a pointer of Git LFS", "git lfs pull"),
    ],
)  # fmt: skip
def test_texts_look_like_what_they_are(tmp_path, text, what, door):
    path = tmp_path / "data.txt"
    path.write_text(text)
    found = look(path)
    assert found.what.startswith(what)
    assert door in found.door
    assert str(found) == f"it looks like {found.what}: {found.door}"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "a file packed by gzip"),
        (b"\x80\x04\x95", "a pickle of Python"),
        (b"PAR1\x15", "a table in Parquet"),
        ("a,b\n1,2\n".encode("utf-16"), "text in UTF-16"),
        (b"PK\x03\x04broken", "a zip file that is damaged"),
        (b"\x01\x00\x02", "a binary file"),
    ],
)
def test_other_files_look_like_what_they_are(tmp_path, content, what):
    path = tmp_path / "data.bin"
    path.write_bytes(content)
    assert look(path).what.startswith(what)


def test_packed_files_and_folders_look_like_what_they_hold(tmp_path):
    made = tapfinger.small(1)
    made.to_folder(tmp_path / "mine")
    assert look(tmp_path / "mine").door == "--instance FOLDER"
    made.save(tmp_path / "one.nc")
    assert look(tmp_path / "one.nc").what == "a NetCDF file"
    for name, said in (("mine/settings.csv", "tables"), ("jobs.csv", "something else")):
        with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
            archive.writestr(name, "name,value\n")
        assert look(tmp_path / "some.zip").what.startswith(f"a zip file of {said}")
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "")
    assert look(tmp_path / "book.xlsx").what == "a spreadsheet"
    (tmp_path / "empty").mkdir()
    assert look(tmp_path / "empty").what == "an empty folder"
    (tmp_path / "raw" / "eua").mkdir(parents=True)
    assert look(tmp_path / "raw").door.startswith("--data FOLDER")


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(InstanceError, match="no such file or folder"):
        look(tmp_path / "nothing")
    with pytest.raises(InstanceError, match="no such file or folder"):
        look("\x00")
    with pytest.raises(InstanceError, match="is neither a file nor a folder"):
        look("/dev/null")
    with pytest.raises(InstanceError, match="must be the path of a file or folder"):
        look(3)


# --- behind every refusal --------------------------------------------------------------------

JOBS = r"looks like .*a list of jobs \(name, .*: Jobs\.read\(FILE, arrival='creation_time', "


@pytest.mark.parametrize("system", [edr.EdrInstance, tapfinger.TapFingerInstance])
def test_a_list_of_jobs_as_an_instance_is_shown_the_way(tmp_path, system):
    (tmp_path / "jobs.csv").write_text(OPENB)
    with pytest.raises(InstanceError, match=JOBS):
        system.load(tmp_path / "jobs.csv")
    with pytest.raises(InstanceError, match=JOBS):
        system.load(tmp_path)


def test_a_folder_of_other_data_is_shown_the_way(tmp_path):
    (tmp_path / "jobs.csv").write_text(OPENB)
    for from_raw in (tapfinger.from_raw, rescue.from_raw):
        with pytest.raises(InstanceError, match=JOBS):
            from_raw(tmp_path)


def test_other_forms_are_named(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(gzip.compress(OPENB.encode()))
    with pytest.raises(InstanceError, match=r"not a readable CSV file .* packed by gzip: unpack"):
        Jobs.read(path, arrival="creation_time")
    path.write_text(GRAPHML)
    with pytest.raises(InstanceError, match=r"not a readable GML file .*looks like a network in"):
        topology.read_links(path)
    path.write_text(HELIOS.replace(",", ";"))
    with pytest.raises(InstanceError, match=r"has no column 'submit_time'; it looks .*sep=';'"):
        Jobs.read(path, arrival="submit_time")
    # A file in the right form that is damaged does not look like another one.
    path.write_text('a,b\n"1,2\n')
    with pytest.raises(InstanceError) as caught:
        read_rows(path)
    assert "looks like" not in str(caught.value)


def test_the_command_line_is_shown_the_way(tmp_path, capsys):
    path = tmp_path / "jobs.csv"
    path.write_text(OPENB)
    for option, said in (("--data", "takes a folder; it looks like"), ("--instance", "looks like")):
        assert run(["study", "tapfinger", option, str(path)]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert "Jobs.read(FILE" in error


# --- the way that is shown leads in ------------------------------------------------------------


@pytest.mark.parametrize(("text", "units"), [(OPENB, "s"), (HELIOS, None), (PAI, "s")])
def test_the_way_leads_in(tmp_path, text, units):
    path = tmp_path / "data.csv"
    path.write_text(text)
    door = look(path).door
    call = door[: door.index(")") + 1]
    names = ("creation_time", "scheduled_time", "deletion_time", "start_time", "end_time")
    some = {name: units for name in names if f"'{name}'" in call} if units else {}
    known = {"Jobs": Jobs, "FILE": path, "some": some}
    jobs = eval(call.replace("units=...", "units=some"), known, {})
    assert len(jobs) == 1
    assert np.isfinite(jobs.seconds).all()


DATA = Path(os.environ.get("EDGEOPT_DATA", "/nowhere"))


@pytest.mark.skipif(not DATA.exists(), reason="needs the public files, EDGEOPT_DATA")
def test_public_files_look_like_what_they_are():
    found = {
        path.name: look(path).what.partition(" (")[0]
        for path in DATA.rglob("*")
        if path.suffix in (".csv", ".gml", ".json")
    }
    kinds = pd.Series(found)
    assert (kinds[kinds.index.str.endswith(".gml")] == "a network in GML").all()
    assert found["AzureLLMInferenceTrace_conv.csv"] == "a log of what came when"
    assert found["PJM-CE_2020_2025.csv"] == found["ontario_price2016.csv"] == "a series by time"
    assert found["users-melbcbd-generated.csv"] == found["stations.csv"] == "positions"
    assert found["timm_results-imagenet.csv"] == "a table of models"
    assert found["minibatch_job_1_norm.csv"] == "a table"
    assert not kinds.str.startswith("a list of jobs").any()
