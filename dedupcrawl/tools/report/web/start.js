"use strict";
// Reads the data, fills the lists, and opens the address.

(async () => {
  try {
    await data.load();
  } catch (error) {
    console.error(error);
    const said = document.getElementById("broken");
    said.textContent = tr(
      "This browser cannot decompress the data of this page. Clusters, near misses and the table of pages are missing. Use a browser of 2023 or later.",
    );
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
