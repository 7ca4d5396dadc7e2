import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";

// A tap reporter for logs of which only the end may be readable: it prints a line for each file as
// it finishes, and the failures last, with their location and diff. tap's own reporters print every
// assertion or repaint the screen.

const POINT = /^( *)(not )?ok\b/;
/** An expected failure. */
const EXPECTED = / # (TODO|SKIP)\b/i;

export default class Failures extends Transform {
  #decoder = new StringDecoder();
  #rest = "";
  #failures = [];
  /** The indentation of the last test point, if it failed. */
  #failed = undefined;
  /** Whether the current line is in the point's YAML details. They are printed up to the source excerpt. */
  #inDetails = false;
  #inSource = false;

  _transform(chunk, _encoding, done) {
    const lines = (this.#rest + this.#decoder.write(chunk)).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) this.#read(line);
    done();
  }

  _flush(done) {
    this.#read(this.#rest);
    if (this.#failures.length > 0) this.push(`\nFailed:\n${this.#failures.join("\n")}\n`);
    done();
  }

  #read(line) {
    if (this.#inDetails || line === `${this.#failed}  ---`) {
      this.#inSource ||= line.startsWith(`${this.#failed}  source:`);
      this.#inDetails = line !== `${this.#failed}  ...`;
      this.#inSource &&= this.#inDetails;
      if (!this.#inSource) this.#failures.push(line);
      return;
    }
    const [, indent, not] = POINT.exec(line) ?? [];
    this.#failed = not && !EXPECTED.test(line) ? indent : undefined;
    if (this.#failed !== undefined) this.#failures.push(line);
    if (indent === "" || line.startsWith("# {")) this.push(`${line}\n`);
  }
}
