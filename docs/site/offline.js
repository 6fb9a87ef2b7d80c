// Search in a site that is opened from disk, where browsers refuse fetch() and workers: the index is a script, and the
// worker's script runs in a hidden frame. Precedes the theme's script, which reads __search.index.
// SPDX-License-Identifier: MIT OR Apache-2.0
if (location.protocol === "file:") {
  document.write(`<script src="${document.currentScript.dataset.index}"></` + "script>"); // defines __search

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.window = frame.contentWindow;
      this.window.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const page = frame.contentDocument;
      const script = page.createElement("script");
      script.src = new URL(url, location.href).href;
      this.loaded = new Promise((resolve) => (script.onload = resolve));
      page.body.append(script);
    }

    postMessage(data) {
      this.loaded.then(() => this.window.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
