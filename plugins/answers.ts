import type { FastifyReply } from "fastify";
import fp from "fastify-plugin";

declare module "fastify" {
  interface FastifyReply {
    /**
     * Sends JSON, and writes it anew only when it was not sent before.
     * @param of what it is made of, and lives as long as: the store gives the
     *   same object for as long as nobody has changed it.
     * @param variant tells answers apart that are made of the same; the last is kept.
     * @param make gives what is to be sent.
     */
    sendRemembered(
      of: object,
      variant: string,
      make: () => unknown,
    ): FastifyReply;
  }
}

/** Writes the same answer only once. */
export default fp(
  async (app) => {
    const answers = new WeakMap<object, { variant: string; json: string }>();
    app.decorateReply(
      "sendRemembered",
      function (this: FastifyReply, of, variant, make) {
        let answer = answers.get(of);
        if (answer?.variant !== variant) {
          const json = this.serialize(make()) as string;
          answers.set(of, (answer = { variant, json }));
        }
        this.header("content-type", "application/json; charset=utf-8");
        return this.send(answer.json);
      },
    );
  },
  { name: "answers" },
);
