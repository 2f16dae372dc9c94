// The desk: keys, time left, "seen before approve", live changes, media that does not load, copy. No state of its own.
(function () {
  "use strict";
  const $ = (selector, root) => (root || document).querySelector(selector);
  const $$ = (selector, root) => Array.from((root || document).querySelectorAll(selector));

  // --- time left: the server wrote the first text, this keeps it true
  function leftText(seconds) {
    if (seconds <= 0) return "expired";
    const hours = Math.floor(seconds / 3600);
    const minutes = Math.floor((seconds % 3600) / 60);
    if (hours) return hours + " h " + String(minutes).padStart(2, "0") + " min left";
    if (minutes >= 10) return minutes + " min left";
    return minutes + ":" + String(Math.floor(seconds % 60)).padStart(2, "0") + " left";
  }
  function tick() {
    $$("time[data-left]").forEach(function (element) {
      const seconds = (Date.parse(element.dateTime) - Date.now()) / 1000;
      const text = leftText(seconds);
      if (element.textContent !== text) element.textContent = text;
      if (seconds <= 0 && element.hasAttribute("data-closes")) close();
    });
  }
  setInterval(tick, 1000);
  tick();

  // --- an item that changed while it was open cannot be decided any more
  function close() {
    $$("[data-deciding] fieldset").forEach((fieldset) => { fieldset.disabled = true; });
  }
  document.addEventListener("htmx:after:swap", function () {
    if ($("[data-changed]")) close();
  });

  // --- Approve becomes active once the content has been on screen
  function guardApprove() {
    const button = $("[data-approve]");
    const content = $("[data-must-see]");
    if (!button || !content || !("IntersectionObserver" in window)) return;
    const hint = $("[data-approve-hint]");
    button.disabled = true;
    const tell = setTimeout(function () {
      if (hint) hint.textContent = "Look at the content first; then this becomes active.";
    }, 1200);
    let timer = 0;
    const watch = new IntersectionObserver(function (entries) {
      const entry = entries[entries.length - 1];
      const enough = entry.intersectionRatio >= 0.5 || entry.intersectionRect.height >= window.innerHeight * 0.4;
      clearTimeout(timer);
      if (!enough) return;
      timer = setTimeout(function () {
        watch.disconnect();
        clearTimeout(tell);
        button.disabled = false;
        if (hint) hint.textContent = "";
      }, 500);
    }, { threshold: [0, 0.1, 0.25, 0.5, 0.75, 1] });
    watch.observe(content);
  }
  guardApprove();

  // --- media that does not load says so
  function lost(element) {
    const box = document.createElement("div");
    box.className = "ch-lost";
    box.textContent = "This file could not be shown. Its fingerprint is part of what you sign.";
    element.replaceWith(box);
    const hint = $("[data-media-hint]");
    if (hint) hint.textContent = "A file could not be shown. You would sign it unseen.";
  }
  $$(".ch-media img").forEach(function (image) {
    if (image.complete && !image.naturalWidth) lost(image);
    else image.addEventListener("error", () => lost(image));
  });
  $$(".ch-media video").forEach((video) => video.addEventListener("error", () => lost(video), true));

  // --- copy
  document.addEventListener("click", function (event) {
    const button = event.target.closest("[data-copy]");
    if (!button || !navigator.clipboard) return;
    navigator.clipboard.writeText(button.dataset.copy).then(function () {
      const status = $("[data-copy-status]");
      if (status) status.textContent = "Copied";
    });
  });

  // --- is the platform working?
  const banner = $("[data-health]");
  function health() {
    fetch("/readyz", { headers: { Accept: "application/json" } })
      .then(function (answer) { say(answer.ok ? "" : banner.dataset.down); })
      .catch(function () { say(banner.dataset.offline); });
  }
  function say(text) {
    $("p", banner).textContent = text;
    banner.hidden = !text;
  }
  if (banner) {
    health();
    setInterval(health, 20000);
  }

  // --- keys, never while typing
  const help = $("dialog.ch-help");
  function rows() { return $$("[data-row]"); }
  function move(step) {
    const all = rows();
    if (!all.length) return follow(step > 0 ? "[data-next]" : "[data-previous]");
    const at = all.indexOf(document.activeElement);
    all[Math.min(all.length - 1, Math.max(0, at + step))].focus();
  }
  function follow(selector) {
    const target = $(selector);
    if (target) target.click();
  }
  function reasonFor(name) {
    const field = $("[data-reason]");
    const button = $("[data-" + name + "]");
    if (!field || !button || button.matches(":disabled")) return;
    if (field.value.trim()) button.focus();
    else field.focus();
  }
  function approve() {
    const button = $("[data-approve]");
    if (button && !button.matches(":disabled")) button.click();
  }
  const keys = {
    j: () => move(1),
    k: () => move(-1),
    a: approve,
    r: () => reasonFor("reject"),
    c: () => reasonFor("changes"),
    "?": () => help && (help.open ? help.close() : help.showModal()),
  };
  const jumps = { i: "/review/", d: "/", c: "/content/", w: "/wallets/" };
  let jumping = false;
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (jumping) {
      jumping = false;
      const link = jumps[event.key] && $('a[href="' + jumps[event.key] + '"]');
      if (link) link.click();
      return;
    }
    if (help && help.open && event.key !== "?") return;
    if (event.key === "g") { jumping = true; setTimeout(() => { jumping = false; }, 1000); return; }
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
})();
