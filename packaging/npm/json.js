// SPDX-License-Identifier: Apache-2.0
// json.js -- JsonText, which holds a value as the text of its JSON. Numbers of JavaScript do not distinguish 2 from
// 2.0, and are not exact beyond 2^53.

export class JsonText {
  constructor(text) {
    this.text = String(text)
  }
}
