import type { Test } from "tap";
import type { Json } from "../live/client.js";
import { until } from "../helper.js";

/** An event stream, as a client reads it. */
export interface Stream {
  readonly status: number;
  readonly events: Json[];
  comments: number;
  ended: boolean;
  has(count: number): Promise<Json[]>;
  close(): void;
}

/** Opens an event stream. It is closed with the test. */
export async function openStream(
  t: Test,
  url: string,
  token: string,
  headers: Record<string, string> = {},
): Promise<Stream> {
  const abort = new AbortController();
  t.teardown(() => abort.abort());
  const answer = await fetch(url, {
    signal: abort.signal,
    headers: {
      accept: "text/event-stream",
      authorization: `Bearer ${token}`,
      ...headers,
    },
  });
  const stream: Stream = {
    ...{ status: answer.status, events: [], comments: 0, ended: false },
    async has(count) {
      await until(() => stream.events.length >= count || stream.ended);
      return stream.events;
    },
    close: () => abort.abort(),
  };
  const read = async () => {
    let rest = "";
    const decoder = new TextDecoder();
    for await (const chunk of answer.body!) {
      rest += decoder.decode(chunk, { stream: true });
      const blocks = rest.split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        if (block.startsWith(":")) {
          stream.comments++;
          continue;
        }
        const fields = Object.fromEntries(
          block.split("\n").map((line) => line.split(/: (.*)/s, 2)),
        ) as Record<string, string>;
        const data = JSON.parse(fields.data!);
        if (fields.id !== data.cursor || fields.event !== data.type) {
          throw new Error(`the fields differ from the data: ${block}`);
        }
        stream.events.push(data);
      }
    }
  };
  if (answer.status === 200) {
    read().then(
      () => (stream.ended = true),
      () => (stream.ended = true),
    );
  }
  return stream;
}
