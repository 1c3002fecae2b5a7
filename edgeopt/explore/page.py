"""The live page of a system, a notebook of marimo."""

# /// script
# [tool.marimo.display]
# theme = "system"
# ///

import marimo

app = marimo.App(app_title="edgeopt", width="medium")


@app.cell
def imports():
    import marimo as mo

    from edgeopt.explore import controls as page
    from edgeopt.studies import live
    from edgeopt.studies.claims import counterexample as claim

    return claim, live, mo, page


@app.cell
def chosen(mo, page):
    given = mo.query_params().to_dict()
    record, source = page.chosen(mo.cli_args().to_dict(), given)
    return given, record, source


@app.cell
def controls(given, mo, page, record, source):
    _start = page.moved_to(record, source, given)
    _numbers = {**_start.numbers, "runs": _start.runs, "seed": _start.seed}
    _look = {"show_value": True, "full_width": True}
    sliders = mo.ui.dictionary(
        {
            _one.name: mo.ui.slider(
                _one.low, _one.high, _one.step, _numbers[_one.name], label=_one.title, **_look
            )
            for _one in page.sliders(record, source)
        }
    )
    _known = page.policies(record)
    _first = [_title for _title, _name in _known.items() if _name in _start.policies]
    names = mo.ui.multiselect(_known, _first, label="policies", full_width=True)
    _beside = mo.Html(f"<style>{page.BESIDE}</style>")
    mo.vstack([_beside, mo.md(f"### {record.title}"), *sliders.elements.values(), names])
    return names, sliders


@app.cell
def state(mo, names, page, record, sliders, source):
    moved = page.of_numbers(record, source, sliders.value, names.value)
    for _name, _text in {"system": record.name, **moved.address()}.items():
        mo.query_params().set(_name, _text)
    return (moved,)


@app.cell
def size(mo, moved, page, record):
    instance = page.drawn(record, moved)
    large = page.size(record, instance) > 1
    compute = mo.ui.run_button(label="compute")
    mo.vstack([mo.md("This size takes more than about a second."), compute]) if large else None
    return compute, instance, large


@app.cell
def result(compute, instance, large, mo, moved, page, record):
    mo.stop(large and not compute.value, mo.Html('<p id="stamp">not computed yet</p>'))
    if page.slow(record, instance):
        with mo.status.spinner("Comparing policies ..."):
            view = page.shown(instance, moved)
    else:
        view = page.shown(instance, moved)
    mo.Html(
        f'<div id="view">{view._repr_html_()}</div>'
        f'<p id="stamp"><small>{page.stamp(instance, moved)}</small></p>'
    )
    return (view,)


@app.cell
def certificate(mo, page, view):
    pack, why = page.certificate(view)
    _sentence = mo.Html(f'<div id="uncertified">{page.View(why)._repr_html_()}</div>')
    mo.download(pack, "certificate.zip", label="save certificate") if pack else _sentence
    return pack, why


@app.cell
def buttons(live, mo, record):
    show = mo.ui.run_button(label="three lines of Python")
    hunt = mo.ui.run_button(label="hunt a counterexample")
    _claim = live.live_of(record).claim
    mo.vstack([show, mo.md(f"The published claim `{_claim}` fails on some instances."), hunt])
    return hunt, show


@app.cell
def python(mo, moved, page, record, show):
    mo.stop(not show.value)
    _text = mo.plain_text(page.python(record, moved)).text
    mo.Html(f'<div id="python" style="overflow-x:auto">{_text}</div>')
    return


@app.cell
def counterexample(claim, hunt, mo, moved, page, record):
    mo.stop(not hunt.value)

    # Beside the cells, so that a moved slider does not wait for it, but ends it.
    def _search():
        _thread = mo.current_thread()
        _found = claim.hunt(record, rng=moved.seed, ended=lambda: _thread.should_exit)
        if not _thread.should_exit:
            _text = page.View(_found.text)._repr_html_()
            mo.output.replace(mo.Html(f'<div id="hunted">{_text}</div>'))

    mo.output.append(
        mo.Html(
            '<p id="hunting">Searching for at most 10 seconds. What is moved meanwhile ends it.</p>'
        )
    )
    mo.Thread(target=_search, daemon=True).start()
    return


if __name__ == "__main__":
    app.run()
