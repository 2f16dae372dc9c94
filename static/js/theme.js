// Light or dark: what the person chose on this device, else what the system prefers. Loaded before the page is drawn.
(function () {
  "use strict";
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const stored = function () {
    try { return localStorage.getItem("theme"); } catch { return null; }
  };
  const show = function () {
    root.setAttribute("data-bs-theme", stored() || (dark.matches ? "dark" : "light"));
  };
  show();
  dark.addEventListener("change", show);
  document.addEventListener("click", function (event) {
    if (!event.target.closest("[data-theme-toggle]")) return;
    const next = root.getAttribute("data-bs-theme") === "dark" ? "light" : "dark";
    try { localStorage.setItem("theme", next); } catch { /* private window: this page only */ }
    root.setAttribute("data-bs-theme", next);
  });
})();
