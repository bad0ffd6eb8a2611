// SPDX-License-Identifier: Apache-2.0
// json.js -- JsonText: a value as the text of its JSON. Numbers of JavaScript cannot say whether 2 was 2.0, and are not exact beyond 2^53.

export class JsonText {
  constructor(text) {
    this.text = String(text)
  }
}
