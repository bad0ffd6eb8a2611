// page.js URL MODEL -- a web page of http://page.example in jsdom, whose XMLHttpRequest obeys the rules of browsers: it asks before (preflight), and hides
// answers that do not name its origin. Prints what the page sees.
// SPDX-License-Identifier: Apache-2.0
const { JSDOM, VirtualConsole } = require("jsdom");
const [url, model] = process.argv.slice(2);
const page = new JSDOM("", { url: "http://page.example/", virtualConsole: new VirtualConsole() });
const x = new page.window.XMLHttpRequest();
x.open("POST", url + "/v1/chat/completions");
x.setRequestHeader("Content-Type", "application/json");
x.setRequestHeader("Authorization", "Bearer sesame");
x.setRequestHeader("X-Stainless-Lang", "js");
x.onload = () => {
  console.log(x.status, JSON.parse(x.responseText).choices[0].message.content, /^req_/.test(x.getResponseHeader("x-request-id")));
};
x.onerror = () => console.log("hidden");
x.send(JSON.stringify({ model, messages: [{ role: "user", content: "from a page" }] }));
