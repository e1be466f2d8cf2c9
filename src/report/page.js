// The page is complete without this: it shows one step at a time, and other settings of the map.
"use strict";

(function stepper() {
  const box = document.getElementById("stepper");
  if (!box) return;
  const steps = [...box.querySelectorAll(".step")];
  const controls = box.querySelector(".controls");
  const count = box.querySelector(".count");
  const [back, next] = box.querySelectorAll("button");
  let now = 0;

  function show(at) {
    now = Math.max(0, Math.min(steps.length - 1, at));
    steps.forEach((step, i) => { step.hidden = i !== now; });
    count.textContent = `step ${now + 1} of ${steps.length}`;
    back.disabled = now === 0;
    next.disabled = now === steps.length - 1;
  }

  controls.hidden = false;
  box.classList.add("one");
  back.addEventListener("click", () => show(now - 1));
  next.addEventListener("click", () => show(now + 1));
  controls.addEventListener("keydown", (e) => {
    if (e.key === "ArrowLeft") show(now - 1);
    if (e.key === "ArrowRight") show(now + 1);
  });
  show(0);
})();

(function map() {
  const source = document.getElementById("map-data");
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const FROM = 1, TO = 14, NEAR = 0.14, HOPS = 3, FULL_ROWS = HOPS + 2; // as in map.c
  const stops = { hops: [1, 2, 3], linear: data.linear, dims: data.dims, bits: data.bits };
  const inputs = {};
  const rows = [...document.querySelectorAll("#map-rows .map-row")];

  const percent = (x) => 100 * Math.min(Math.max((x - FROM) / (TO - FROM), 0), 1);

  function make(tag, name, text) {
    const e = document.createElement(tag);
    if (name) e.className = name;
    if (text !== undefined) e.textContent = text;
    return e;
  }

  // "38215" with commas; "10^22.1" with a raised exponent.
  function number(text) {
    if (/^\d+$/.test(text)) return [text.replace(/\B(?=(\d{3})+$)/g, ",")];
    const at = text.indexOf("^");
    return at < 0 ? [text] : [text.slice(0, at), make("sup", "", text.slice(at + 1))];
  }

  function plan(full, linear) {
    const chips = [];
    const gap = () => {
      if (!linear) return;
      const chip = make("span", "chip l", "L");
      if (linear > 1) chip.append(make("sup", "", linear));
      chips.push(chip, " ");
    };
    for (let i = 0; i < full; i++) { gap(); chips.push(make("span", "chip f", "F"), " "); }
    gap();
    return chips;
  }

  function note([to, toText, from, fromText, theorem, checked]) {
    const out = [];
    if (to !== null) out.push("proved possible up to ", make("var", "", "n"), " = ", ...number(toText));
    if (to !== null && from !== null) out.push("; ");
    if (from !== null)
      out.push("proved impossible from ", make("var", "", "n"), " = ", ...number(fromText), ` on (${theorem}, ${checked ? "machine-checked" : "on paper"})`);
    return out.length ? out : ["open at every length"];
  }

  // A row's dots, and how many stand above each other at most.
  function dots(full, hops) {
    const placed = [];
    let most = 0;
    const all = data.models.filter((m) => Math.min(m.full, hops + 1) === full).map((m) => {
      const at = m.context ?? m.from[hops - 1] ?? TO;
      const up = placed.filter((x) => Math.abs(x - at) < NEAR).length;
      placed.push(at);
      const verdict = m.verdict[hops - 1];
      const dot = make("span", `dot ${m.context !== null && verdict === "from_n" ? "silent" : verdict}`);
      dot.style.left = `${percent(at)}%`;
      dot.style.setProperty("--up", up);
      most = Math.max(most, up + 1);
      dot.title = m.name;
      return dot;
    });
    return [all, most];
  }

  function draw() {
    const at = {}, now = {};
    for (const key in stops) {
      at[key] = Number(inputs[key].value);
      now[key] = stops[key][at[key]];
      document.getElementById(`map-${key}-now`).textContent = now[key];
      inputs[key].setAttribute("aria-valuetext", now[key]);
    }
    const base = ((at.hops * data.linear.length + at.linear) * data.dims.length + at.dims) * data.bits.length + at.bits;
    for (const row of rows) {
      const full = Number(row.dataset.full);
      const r = data.rows[base * FULL_ROWS + full];
      row.hidden = full > now.hops + 1 || (full === 0 && now.linear === 0);
      row.querySelector(".plan").replaceChildren(...plan(full, now.linear));
      row.querySelector(".bar.yes").style.width = `${r[0] === null ? 0 : percent(r[0])}%`;
      row.querySelector(".bar.no").style.left = `${r[2] === null ? 100 : percent(r[2])}%`;
      row.querySelector("b").textContent = `${full}${full === now.hops + 1 ? "+" : ""} full`;
      const [all, most] = dots(full, now.hops);
      row.querySelector(".dots").replaceChildren(...all);
      row.querySelector(".track").style.setProperty("--most", most);
      row.querySelector(".map-note").replaceChildren(...note(r));
    }
    const s = (n) => (n === 1 ? "" : "s");
    document.getElementById("map-setting").textContent =
      `${now.hops} hop${s(now.hops)}, ${now.linear} linear layer${s(now.linear)} a gap, ` +
      `heads of ${now.dims} numbers, ${now.bits} bits a number`;
  }

  for (const key in stops) {
    inputs[key] = document.getElementById(`map-${key}`);
    inputs[key].addEventListener("input", draw);
  }
  document.getElementById("map-controls").hidden = false;
  draw();
})();
