// help.js -- shows which keys the page understands.
// SPDX-License-Identifier: Apache-2.0
import { byId, clear, make } from "./dom.js";

const KEYS = [
  ["j, k, arrows", "the next item of the document, the one before"],
  ["Enter", "open the item, or close it"],
  ["u", "out: close what is open, or go to what is around"],
  ["], [", "the next call of a model, the one before"],
  ["/", "find; n and N walk the hits"],
  ["e", "the failure; the next error of boxes"],
  ["d", "the next difference of two runs"],
  ["t", "the strip of time tall, with the calls that the end waited for"],
  ["c", "the margin with the program, or without"],
  ["b", "the document, or its boxes"],
  ["arrows", "walk the tree of boxes: right opens, left closes"],
  ["Enter", "show what is known of the box; on a line of the program, its boxes"],
  ["Page Up, Page Down", "scroll a long text of the box"],
  ["Tab", "to the program, the lanes and what is known of the box; arrows walk there, too"],
  ["?", "this help"],
  ["Escape", "close what is open"],
];

export function fillHelp() {
  clear(byId("help")).append(make("h2", {}, "Keys"), make("dl", {},
    KEYS.flatMap(([key, text]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, text)])));
}
