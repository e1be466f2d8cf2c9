// The ladder's page in a browser: node check.mjs CHROMIUM report.html
// On a desktop and on phones, light and dark, with and without script: nothing overflows, nothing is fetched, nothing
// is written to the console; the steps step, the sliders change the map; HTML validator and axe-core find nothing.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { HtmlValidate } from "html-validate";

const [browserPath, file] = process.argv.slice(2);
const address = pathToFileURL(file).href;
const axe = createRequire(import.meta.url).resolve("axe-core");
const wrong = [];
let checks = 0;

function check(ok, what) {
  checks++;
  if (!ok) wrong.push(what);
}

async function validate() {
  const validator = new HtmlValidate({ extends: ["html-validate:standard"] });
  const report = await validator.validateFile(file);
  for (const result of report.results)
    for (const m of result.messages) check(false, `HTML ${m.line}:${m.column} ${m.ruleId}: ${m.message}`);
  check(report.valid, "HTML validator");
}

// A page of that kind; what it fetches and complains about is wrong.
async function open(browser, name, { width, scheme, script }) {
  const page = await browser.newPage({ viewport: { width, height: 850 }, colorScheme: scheme, javaScriptEnabled: script });
  page.on("console", (m) => check(m.type() === "log" || m.type() === "info", `${name}: console: ${m.text()}`));
  page.on("pageerror", (e) => check(false, `${name}: error: ${e.message}`));
  page.on("request", (r) => check(r.url() === address, `${name}: fetches ${r.url()}`));
  await page.goto(address);
  return page;
}

async function fits(page, name) {
  const wide = await page.evaluate(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return null;
    const worst = [...document.querySelectorAll("main *")].find((e) => e.getBoundingClientRect().right > root.clientWidth + 1);
    return `${root.scrollWidth} > ${root.clientWidth}, ${worst?.tagName}.${worst?.className}`;
  });
  check(wide === null, `${name}: overflows sideways: ${wide}`);
}

async function drawingsFit(page, name) {
  const wide = await page.evaluate(() =>
    [...document.querySelectorAll(".scroll")].some((e) => e.scrollWidth > e.clientWidth + 1));
  check(!wide, `${name}: a drawing must be scrolled`);
}

const visible = (page, selector) =>
  page.evaluate((s) => [...document.querySelectorAll(s)].filter((e) => e.checkVisibility()).length, selector);

async function steps(page, name) {
  const total = await page.locator(".step").count();
  const title = () => page.evaluate(() => [...document.querySelectorAll(".step")].filter((e) => e.checkVisibility())
    .map((e) => e.textContent).join());
  check(total >= 6 && (await visible(page, ".step")) === 1, `${name}: one step at a time`);
  const first = await title();
  await page.locator("#stepper button", { hasText: "Next" }).click();
  const second = await title();
  check(second !== first, `${name}: Next steps`);
  await page.keyboard.press("ArrowRight");
  check((await title()) !== second, `${name}: arrow keys step`);
  await page.locator("#stepper button", { hasText: "Back" }).click();
  check((await title()) === second, `${name}: Back steps back`);
  for (let i = 0; i < total; i++) await page.keyboard.press("ArrowRight");
  check((await page.locator(".count").textContent()) === `step ${total} of ${total}`, `${name}: the last step`);
  check((await visible(page, ".step .lacking")) === 1, `${name}: the last step shows what is lacking`);
  check(await page.locator("#stepper button", { hasText: "Next" }).isDisabled(), `${name}: nothing behind the last step`);
}

const grouped = (text) => (/^\d+$/.test(text) ? BigInt(text).toLocaleString("en-US") : text.replace("^", ""));

// Every slider, moved by the keyboard, changes the map to what the table in the page says.
async function sliders(page, name) {
  const data = JSON.parse(await page.locator("#map-data").textContent());
  const sizes = { hops: 3, linear: data.linear.length, dims: data.dims.length, bits: data.bits.length };
  const drawn = () => page.locator("#map-rows").innerHTML();
  for (const key of Object.keys(sizes)) {
    const before = await drawn();
    const input = page.locator(`#map-${key}`);
    await input.focus();
    await page.keyboard.press(Number(await input.inputValue()) + 1 < sizes[key] ? "ArrowRight" : "ArrowLeft");
    check((await drawn()) !== before, `${name}: the slider ${key} changes the map`);
    const at = {};
    for (const k of Object.keys(sizes)) at[k] = Number(await page.locator(`#map-${k}`).inputValue());
    const point = ((at.hops * sizes.linear + at.linear) * sizes.dims + at.dims) * sizes.bits + at.bits;
    for (let full = 0; full <= at.hops + 2; full++) {
      if (full === 0 && data.linear[at.linear] === 0) continue;
      const [, to, from, fromText, theorem, checked] = data.rows[point * 5 + full];
      const note = await page.locator(`.map-row[data-full="${full}"] .map-note`).textContent();
      if (from !== null) check(note.includes(`from n = ${grouped(fromText)} on (${theorem}, ${checked ? "machine-checked" : "on paper"})`), `${name}: ${key} ${full}: ${note}`);
      if (to) check(note.includes(`up to n = ${grouped(to)}`), `${name}: ${key} ${full}: ${note}`);
    }
  }
}

async function accessible(page, name) {
  await page.addScriptTag({ path: axe });
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  for (const v of violations) {
    const text = `${name}: axe ${v.id} (${v.impact}): ${v.help}: ${v.nodes[0].html.slice(0, 120)}`;
    if (v.impact === "serious" || v.impact === "critical") check(false, text);
    else console.log(`note: ${text}`);
  }
  check(true, "axe ran");
}

async function look(browser, how) {
  const name = `${how.width} ${how.scheme}${how.script ? "" : ", no script"}`;
  const page = await open(browser, name, how);
  await fits(page, name);
  if (how.script) {
    await steps(page, name);
    await sliders(page, name);
    await fits(page, `${name}, moved`);
  } else {
    check((await visible(page, ".step")) >= 6, `${name}: all steps are there`);
    check((await visible(page, ".controls")) === 0, `${name}: no controls that do nothing`);
    check((await visible(page, ".map-note")) >= 3, `${name}: the map is there`);
  }
  await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
  await fits(page, `${name}, unfolded`);
  await drawingsFit(page, name);
  if (how.script) await accessible(page, name);
  await page.close();
}

await validate();
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
for (const width of [1280, 420, 360])
  for (const scheme of ["light", "dark"])
    for (const script of [true, false])
      if (width !== 360 || (scheme === "light" && script)) await look(browser, { width, scheme, script });
await browser.close();
for (const w of new Set(wrong)) console.log(`wrong: ${w}`);
console.log(`${checks - wrong.length} passed, ${wrong.length} failed`);
process.exit(wrong.length ? 1 : 0);
