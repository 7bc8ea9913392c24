// What can be said of the accessibility of a page from the page itself: a list of its faults. `colours` alone says only
// those of the colours, as they are at the moment.
(colours) => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const name = (element) => {
    const words = (element.textContent ?? "").trim().slice(0, 40);
    const classes = element.getAttribute("class");
    return `<${element.localName}${element.id ? `#${element.id}` : ""}${classes ? `.${classes.replaceAll(" ", ".")}` : ""}> ${words}`;
  };
  const isShown = (element) => {
    const style = getComputedStyle(element);
    return element.getClientRects().length > 0 && style.visibility !== "hidden" && style.clipPath === "none";
  };

  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const over = ([r, g, b, a = 1], [under1, under2, under3]) =>
    [r * a + under1 * (1 - a), g * a + under2 * (1 - a), b * a + under3 * (1 - a)];
  const ground = (element) => {
    if (element === null) return numbers(getComputedStyle(document.body).backgroundColor).slice(0, 3);
    const own = numbers(getComputedStyle(element).backgroundColor);
    return own[3] === 0 ? ground(element.parentElement) : over(own, ground(element.parentElement));
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [more, less] = [light(one), light(other)].sort((a, b) => b - a);
    return (more + 0.05) / (less + 0.05);
  };
  for (const element of all("body *")) {
    const speaks = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim() !== "");
    const isField = element.matches("input:not([type=checkbox]):not([type=hidden]), select");
    if (!(speaks || isField) || !isShown(element) || element.closest("svg, option, script") !== null) continue;
    const style = getComputedStyle(element);
    const under = ground(element);
    const ratio = contrast(over(numbers(style.color), under), under);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) faults.push(`a contrast of ${ratio.toFixed(2)}: ${name(element)}`);
  }
  if (colours) return faults;

  if (document.documentElement.lang === "") faults.push("no language");
  if (document.title.trim() === "") faults.push("no title");
  if (all("h1").length !== 1) faults.push(`${all("h1").length} h1`);
  if (all("main").length !== 1) faults.push("no main");
  if (!document.body.matches(":has(main.alone)")) {
    for (const landmark of ["header", "nav[aria-label]", "footer"]) if (all(landmark).length !== 1) faults.push(`no ${landmark}`);
    if (document.querySelector("a.skip")?.getAttribute("href") !== "#main") faults.push("no way past the navigation");
  }
  let level = 1;
  for (const heading of all("h1, h2, h3, h4")) {
    const its = Number(heading.localName[1]);
    if (its > level + 1) faults.push(`a level is left out before ${name(heading)}`);
    level = its;
  }
  const ids = all("[id]").map((element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) faults.push(`two elements are #${id}`);
  for (const attribute of ["aria-labelledby", "for"]) {
    for (const element of all(`[${attribute}]`)) {
      if (document.getElementById(element.getAttribute(attribute)) === null) faults.push(`${attribute} leads nowhere: ${name(element)}`);
    }
  }
  const label = (element) => (element.getAttribute("aria-label") ?? "") + [...(element.labels ?? [])].map((one) => one.textContent).join("");
  for (const field of all("input:not([type=hidden]), select, textarea, progress, meter")) {
    if (isShown(field) && label(field).trim() === "") faults.push(`no label: ${field.outerHTML.slice(0, 100)}`);
  }
  for (const element of all("a, button, summary, th, [role=img], [role=region]")) {
    if ((element.textContent + label(element)).trim() === "") faults.push(`no name: ${element.outerHTML.slice(0, 100)}`);
  }
  for (const element of all("a[href], button, input:not([type=hidden]), select, [tabindex='0']")) {
    if (!isShown(element)) continue;
    element.focus({ focusVisible: true });
    const style = getComputedStyle(element);
    if (document.activeElement === element && (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1)) {
      faults.push(`the focus cannot be seen: ${name(element)}`);
    }
  }
  document.activeElement?.blur();
  return faults;
}
