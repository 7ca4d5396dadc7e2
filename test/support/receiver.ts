import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import type { Json } from "../../conformance/client.js";

export interface Got {
  headers: IncomingHttpHeaders;
  body: Json;
  text: string;
}

type Answer = number | "silence" | "flood";

/** A receiver of webhooks. @param answers statuses, or worse; the last one repeats. */
export async function receiver(t: Test, ...answers: Answer[]) {
  const got: Got[] = [];
  let flooded = 0;
  const server: Server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      const body = JSON.parse(text);
      got.push({ headers: request.headers, text, body });
      const answer = answers.length > 1 ? answers.shift()! : answers[0]!;
      if (answer === "silence") return;
      if (answer !== "flood") {
        response.writeHead(answer, { location: "http://127.0.0.1:1/" }).end();
        return;
      }
      response.writeHead(200);
      const piece = Buffer.alloc(64 * 1024);
      const more = () => {
        while (!response.destroyed && flooded < 2 ** 30) {
          flooded += piece.length;
          if (!response.write(piece)) return void response.once("drain", more);
        }
        response.end();
      };
      more();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/hook`;
  return { got, url, flooded: () => flooded };
}
