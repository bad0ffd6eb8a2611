// remoteEntry.js -- JupyterLab: cells that begin with %%pdl are shown with the highlighting of YAML.
// SPDX-License-Identifier: Apache-2.0
//
// A prebuilt extension, written by hand. The container has two functions: init gets the modules that the page shares, and get returns
// the module of this extension. The token of notebooks must be the page's own, so it is taken from the shared modules.
"use strict";
(() => {
  const PDL = /^\s*%%pdl\b/;
  const YAML = "text/x-yaml";
  let shared = null;

  async function sharedModule(name) {
    const versions = shared[name];
    return (await versions[Object.keys(versions)[0]].get())();
  }

  // The models of cells that are watched. When the language of the kernel becomes known, the notebook gives it to all
  // cells, and cells with %%pdl must get YAML again.
  const watched = new WeakSet();

  function paint(notebook, cell) {
    const model = cell.model;
    if (model.type !== "code") return;
    const isPdl = PDL.test(model.sharedModel.getSource());
    if (isPdl && model.mimeType !== YAML) model.mimeType = YAML;
    else if (!isPdl && model.mimeType === YAML && notebook.codeMimetype !== YAML) model.mimeType = notebook.codeMimetype;
    if (watched.has(model)) return;
    watched.add(model);
    model.mimeTypeChanged.connect(() => paint(notebook, cell));
  }

  function watch(panel) {
    const notebook = panel.content;
    const paintAll = () => notebook.widgets.forEach(cell => paint(notebook, cell));
    panel.context.ready.then(paintAll);
    notebook.modelContentChanged.connect(paintAll);
  }

  async function extension() {
    const { INotebookTracker } = await sharedModule("@jupyterlab/notebook");
    return {
      id: "libpdl:highlighting",
      description: "YAML highlighting of cells that begin with %%pdl.",
      autoStart: true,
      requires: [INotebookTracker],
      activate: (app, tracker) => {
        tracker.forEach(watch);
        tracker.widgetAdded.connect((_, panel) => watch(panel));
      }
    };
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB.libpdl = {
    init: scope => { shared = scope; },
    get: async name => {
      if (name !== "./extension") throw new Error("libpdl has no module " + name);
      const plugin = await extension();
      return () => ({ __esModule: true, default: plugin });
    }
  };
})();
