import { randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";

// A crowd of websockets, in a process of its own: node crowd.js <port> <count>. It
// prints "open" when all are, and how many ended with which code when all that read
// are gone. Of each ten, one never reads, and one never confirms that it closes.

const [, , port, total] = process.argv.map(Number) as [
  number,
  number,
  number,
  number,
];

/** How many connect at a time. */
const AT_ONCE = 100;

const codes: Record<string, number> = {};
let open = 0;
let gone = 0;
let next = 0;
let reading = 0;

function join(): void {
  if (next === total) return;
  const kind = next++ % 10;
  if (kind !== 0) reading++;
  const socket = connect(port, "127.0.0.1");
  let code = "none";
  socket.on("error", () => {});
  socket.once("close", () => {
    codes[code] = (codes[code] ?? 0) + 1;
    if (++gone === reading) {
      console.log(JSON.stringify(codes));
      process.exit();
    }
  });
  socket.write(
    "GET /ws/world/sample/ HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n" +
      `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString("base64")}\r\n\r\n`,
  );
  socket.once("data", (answer) => {
    if (!answer.toString("latin1").startsWith("HTTP/1.1 101")) {
      throw new Error(answer.toString("latin1"));
    }
    if (kind === 0) socket.pause();
    else {
      socket.on("data", (frame) => {
        // A closing frame with its code.
        if (frame[0] === 0x88 && kind !== 1) {
          code = String(frame.readUInt16BE(2));
          answerClose(socket, frame.readUInt16BE(2));
        }
      });
    }
    if (++open === total) console.log("open");
    join();
  });
}

/** Confirms a closing frame; with a mask of zeros, as a client has to mask. */
function answerClose(socket: Socket, code: number): void {
  const frame = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0, 0]);
  frame.writeUInt16BE(code, 6);
  socket.end(frame);
}

for (let i = 0; i < Math.min(AT_ONCE, total); i++) join();
