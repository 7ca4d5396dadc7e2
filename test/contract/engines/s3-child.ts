import { once } from "node:events";
import { loadConfig } from "../../../config.js";
import { S3Files } from "../../../db/blobs/bucket/s3-files.js";
import type { StoreError } from "../../../db/contract/store.js";

// A process that is killed at some moment, or that reports on itself. Its arguments are the moment
// and its work folder; the bucket is in the environment.

const [moment, dataDir] = process.argv.slice(2) as [string, string];
const MB = Buffer.alloc(1024 * 1024, 7);

async function* megabytes(count: number): AsyncGenerator<Buffer> {
  for (let i = 0; i < count; i++) yield MB;
}

/** Reports that the moment has come, and waits to be killed. */
async function hang(): Promise<never> {
  process.stdout.write("ready");
  return new Promise(() => setInterval(() => {}, 1000));
}

if (moment === "with a wrong clock") {
  const now = Date.now.bind(Date);
  const wrong = () => now() + 3600_000;
  globalThis.Date = class extends Date {
    constructor(time: number | string | Date = wrong()) {
      super(time);
    }
    static override now = wrong;
  } as DateConstructor;
}

const { bucket } = loadConfig(process.env).engines;
const files = await S3Files.open({ ...bucket!, redirect: true }, dataDir);

switch (moment) {
  case "in the middle of an upload":
    await files.put(
      "upload",
      (async function* () {
        yield* megabytes(12);
        await hang();
      })(),
      async () => {},
    );
    break;
  case "stopped for a while": {
    const source = async function* () {
      yield* megabytes(1);
      process.stdout.write("ready");
      await once(process.stdin, "data");
    };
    const put = files.put("stopped", source(), async () => {
      process.stdout.write("recorded");
    });
    await put.catch(({ problem }: StoreError) => process.stdout.write(problem));
    await files.close();
    process.stdin.destroy();
    break;
  }
  case "before the record":
    await files.put("unrecorded", megabytes(1), hang);
    break;
  case "after the record":
    await files.put("recorded", megabytes(1), hang);
    break;
  case "in the middle of a deletion":
    await files.put("deleted", megabytes(1), async () => {});
    await files.put("kept", megabytes(1), async () => {});
    await files.discard(["deleted", "kept"], hang);
    break;
  case "with a large file": {
    globalThis.gc?.();
    const before = process.memoryUsage().rss;
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss - before);
    }, 20);
    let size = 0;
    await files.put("large", megabytes(200), async (stored) => {
      size = stored.size;
    });
    clearInterval(watch);
    await files.close();
    process.stdout.write(JSON.stringify({ most, size }));
    break;
  }
  case "with a wrong clock": {
    await files.put("a", megabytes(1), async () => {});
    const headers = { type: "text/x-a", cacheControl: "no-store" };
    const link = await (await files.open("a"))!.link!(headers);
    await files.close();
    process.stdout.write(link.url);
  }
}
