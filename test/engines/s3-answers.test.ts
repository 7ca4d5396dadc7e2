import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { S3Files } from "../../db/blobs/bucket/files.js";
import { testdir } from "../testdir.js";
import { pieces, untold } from "../db/file-contract.js";

/** Answers each request as no S3 server does. */
type Answering = (response: ServerResponse, request: IncomingMessage) => void;

const DATE = "Mon, 23 Nov 2026 00:00:00 GMT";

const text =
  (body: string, headers: Record<string, string> = {}): Answering =>
  (response) =>
    void response.writeHead(200, headers).end(body);

const list = (inside: string) =>
  text(`<?xml version="1.0"?><ListBucketResult>${inside}</ListBucketResult>`);

const object = (inside: string) =>
  list(`<Name>b</Name><Contents>${inside}</Contents>`);

const SIZE = "<Size>1</Size>";
const TIME = "<LastModified>2026-11-23T00:00:00.000Z</LastModified>";

/** Whether a bucket opens that answers so: it lists its notes. */
const lists: Record<string, Answering> = {
  "a page for people": text("<html><body>Log in</body></html>"),
  "nothing at all": text(""),
  "no XML": text("{}"),
  "half of an answer": text("<ListBucketResult><Name>b</Name><Cont"),
  "an object without a name": object(SIZE + TIME),
  "an object without a size": object(`<Key>work/a/b.note</Key>${TIME}`),
  "a size that is no number": object(
    `<Key>work/a/b.note</Key><Size>x</Size>${TIME}`,
  ),
  "a size below zero": object(`<Key>work/a/b.note</Key><Size>-1</Size>${TIME}`),
  "an object without a time": object(`<Key>work/a/b.note</Key>${SIZE}`),
  "more to come, but not where": list(
    "<Name>b</Name><IsTruncated>true</IsTruncated>",
  ),
  "the same page for ever": list(
    "<Name>b</Name><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>",
  ),
};

/** Descriptions of a file. */
const heads: Record<string, Answering> = {
  "no size": (response) => {
    response.writeHead(200, { "last-modified": DATE });
    response.end();
  },
  "no time": text("", { "content-length": "5" }),
  "a time that is none": text("", {
    "content-length": "5",
    "last-modified": "yesterday",
  }),
};

/** Answers to a read of five bytes. */
const bodies: Record<string, Answering> = {
  "the whole object": text("more than five bytes", { "content-length": "20" }),
  "as many as come": text("five!"),
};

/** Contents of the file that identifies a bucket, none of which Foyer wrote. */
const identities: Record<string, Answering> = {
  "no JSON": text("x"),
  "a list": text("[]"),
  "no id": text("{}"),
};

const empty = list("<Name>b</Name><IsTruncated>false</IsTruncated>");

/** Opens a bucket of a server whose answers a test chooses. */
async function open(t: Test, first: Answering = empty) {
  let answer = first;
  const server = createServer((request, response) => {
    request.resume().once("end", () => answer(response, request));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: "a",
    AWS_SECRET_ACCESS_KEY: "b",
  });
  const { port } = server.address() as AddressInfo;
  const files = await S3Files.open(
    {
      bucket: "b",
      endpoint: `http://127.0.0.1:${port}`,
      region: "us-east-1",
      forcePathStyle: true,
      redirect: false,
    },
    testdir(t),
  );
  t.teardown(() => files.close());
  return { files, say: (next: Answering) => void (answer = next) };
}

const refused = {
  name: "StoreError",
  problem: "unusable",
  message: /^S3_BUCKET: cannot use the bucket b at [^\n]+$/,
};

void t.test("a list", async (t) => {
  for (const [name, answer] of Object.entries(lists)) {
    await t.rejects(open(t, answer), refused, name);
  }
});

void t.test("a file", async (t) => {
  const { files, say } = await open(t);
  for (const [name, answer] of Object.entries(heads)) {
    say(answer);
    await t.rejects(files.open("a"), refused, name);
  }
  say(text("", { "content-length": "5", "last-modified": DATE }));
  const file = (await files.open("a"))!;
  for (const [name, answer] of Object.entries(bodies)) {
    say(answer);
    await t.rejects(file.read({ start: 0, end: 4 }), refused, name);
  }
  say(text("five!", { "content-length": "5" }));
  t.ok(await file.read({ start: 0, end: 4 }));
});

void t.test("the name of the bucket", async (t) => {
  const { files, say } = await open(t);
  for (const [name, answer] of Object.entries(identities)) {
    say(answer);
    await t.rejects(
      files.identify(),
      { name: "StoreError", problem: "unusable" },
      name,
    );
  }
});

void t.test("a server that takes all and keeps nothing", async (t) => {
  const { files, say } = await open(t);
  say(text(""));
  const put = files.put("a", pieces(Buffer.from("x")), untold);
  await t.rejects(put, refused);
});

void t.test(
  "a part is refused while the next one has yet to come",
  async (t) => {
    const { files, say } = await open(t);
    const begun = text(
      "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>",
    );
    say((response, request) => {
      if (/[?&]uploads/.test(request.url!)) return begun(response, request);
      if (!request.url!.includes("partNumber")) return void response.end();
      response.writeHead(403).end("<Error><Code>AccessDenied</Code></Error>");
    });
    let goOn = () => {};
    const source = async function* () {
      yield Buffer.alloc(6 * 1024 * 1024);
      await new Promise<void>((resolve) => (goOn = resolve));
    };
    await t.rejects(files.put("a", source(), untold), refused);
    goOn();
  },
);

void t.test("a note that no Foyer has written", async (t) => {
  const { files, say } = await open(t);
  say(object(`<Key>work/a/%E0%A4%A.note</Key>${SIZE}${TIME}`));
  t.strictSame([...(await files.unsettled())], []);
});
