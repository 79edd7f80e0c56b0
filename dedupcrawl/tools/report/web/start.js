"use strict";
// Reads the data, fills the lists, and follows the address.

(async () => {
  try {
    await data.load();
  } catch (error) {
    console.error(error);
    const said = document.getElementById("broken");
    said.textContent = "This browser cannot unpack the data of this page, so that clusters, near misses and the " +
      "table of pages are missing. Any browser of 2023 or later can.";
    said.hidden = false;
    return;
  }
  document.querySelectorAll(".scripted").forEach((one) => (one.hidden = false));
  lists.start();
  table.start();
  panel.start();
  performance.mark("ready");
  document.documentElement.dataset.ready = "";
})();
