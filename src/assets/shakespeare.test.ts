/** @file The text that the plays become. */

import { expect, it } from "vitest";
import { cleanPlay } from "./shakespeare.js";

it("keeps dialogue only, speakers with a colon", () => {
  const play = [
    "HAMLET, PRINCE OF DENMARK",
    "",
    "PERSONS REPRESENTED.",
    "",
    "Claudius, King of Denmark.",
    "",
    "ACT I.",
    "",
    "Scene I. Elsinore.",
    "",
    "[Enter Francisco and",
    "Bernardo.]",
    "",
    "Ber.",
    "Who's there?  [Aside.] Speak.",
    "",
    "FIRST LORD",
    "Nay, answer me: stand.",
    "And again.",
    "",
    "",
    "",
    "SIR TOBY, BELCH.",
    "(Ha) 12!",
  ].join("\r\n");
  expect(cleanPlay(play)).toBe(
    "Ber:\nWho's there? Speak.\n\nFIRST LORD:\nNay, answer me: stand.\nAnd again.\n\nSIR TOBY, BELCH:\nHa !\n",
  );
});

it("leaves a short sentence within a speech as it is", () => {
  expect(cleanPlay("ACT I.\n\nBer.\nSpeak.\nNow.\n")).toBe("Ber:\nSpeak.\nNow.\n");
});
