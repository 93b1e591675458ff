"""The style of the page: colours for light and dark, sizes for phones.

The colours of ahead and behind, blue and orange, are told apart with every common kind of colour
blindness (Okabe and Ito, Color Universal Design, 2008), and bars lie on different sides besides.
"""

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d232b; --faint: #5b6673;
  --grid: #dfe4ea; --card: #f4f6f9; --ahead: #0072b2; --behind: #c04a00; --even: #8a94a0;
  --one: #007a5a; --two: #a3508c; --three: #8a6d00; --four: #5b6673; }
@media (prefers-color-scheme: dark) { :root { --paper: #12161c; --ink: #e8ecf1; --faint: #a5b0bd;
  --grid: #2c343f; --card: #1b212a; --ahead: #56b4e9; --behind: #ff8a3c; --even: #8a94a0;
  --one: #3fc79a; --two: #e29acb; --three: #f0d264; --four: #a5b0bd; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.6rem; margin: .5rem 0; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 2rem 0 .25rem; }
p { margin: .25rem 0 .75rem; color: var(--faint); font-size: .9rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .8rem; font-size: .9rem;
  margin: .5rem 0; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); gap: .6rem;
  list-style: none; padding: 0; margin: 1rem 0; }
.tiles li { background: var(--card); border-radius: .5rem; padding: .6rem .8rem; }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.2; }
.tiles span { color: var(--faint); font-size: .8rem; }
b.ahead, text.ahead { color: var(--ahead); fill: var(--ahead); }
b.behind, text.behind { color: var(--behind); fill: var(--behind); }
text.even { fill: var(--faint); } b.even { color: var(--faint); }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; color: var(--ink); }
.legend i { display: inline-block; width: .8em; height: .8em; border-radius: 2px;
  margin-right: .4em; background: currentColor; }
i.ahead { color: var(--ahead); } i.behind { color: var(--behind); } i.even { color: var(--even); }
.chart { display: block; overflow: visible; font-size: 12px; }
.chart text { fill: var(--ink); } .chart text.tick { fill: var(--faint); font-size: 11px; }
.chart text.value { font-weight: 600; font-variant-numeric: tabular-nums; }
.chart text.ahead { fill: var(--ahead); } .chart text.behind { fill: var(--behind); }
.chart text.even { fill: var(--faint); }
.bars { display: grid; grid-template-columns: 9.5rem 1fr 2.6rem; column-gap: .6rem; }
.grid { stroke: var(--grid); } .one { stroke: var(--ink); stroke-width: 1.5; }
.bar.ahead { fill: var(--ahead); } .bar.behind { fill: var(--behind); }
.bar.even { fill: var(--even); }
.interval { stroke: var(--ink); stroke-width: 1.5; }
.line { stroke-width: 2; }
.line-0 { stroke: var(--one); fill: var(--one); color: var(--one); }
.line-1 { stroke: var(--two); fill: var(--two); color: var(--two); }
.line-2 { stroke: var(--three); fill: var(--three); color: var(--three); }
.line-3 { stroke: var(--four); fill: var(--four); color: var(--four); }
div.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr));
  gap: 1rem 1.2rem; stroke: none; }
figure { margin: 0; } figcaption { font-size: .85rem; font-weight: 600; }
summary { cursor: pointer; font-weight: 600; margin: 2rem 0 .5rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .8rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
@media print { details > * { display: block; } }
"""
