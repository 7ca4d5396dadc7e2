import { Transform } from "node:stream";
import { StringDecoder } from "node:string_decoder";

// A reporter of tap for a log of which only the end may be read: a line for each file as it ends,
// and last what failed, with its place and difference. tap's own reporters write every assertion,
// or repaint a screen.

const POINT = /^( *)(not )?ok\b/;
/** A failure that a test expects. */
const EXPECTED = / # (TODO|SKIP)\b/i;

export default class Failures extends Transform {
  #decoder = new StringDecoder();
  #rest = "";
  #failures = [];
  /** How far the last point is indented, if it failed. */
  #failed = undefined;
  /** Whether the lines are its details, which are in YAML. They end with its source. */
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
