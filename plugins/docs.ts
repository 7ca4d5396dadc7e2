import swagger from "@fastify/swagger";
import swaggerUi from "@fastify/swagger-ui";
import fp from "fastify-plugin";

/** Everything from this server; Swagger UI writes its styles into the page. */
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/** The interface as a page to read and try, at `/docs`; a browser that opens `/` lands there. */
export default fp(
  async (app) => {
    // Filled when all routes are there: the page asks for it later.
    const document = {} as ReturnType<typeof app.openapi> & { openapi: string };
    await app.register(swagger, {
      mode: "static",
      specification: { document },
    } as never);
    await app.register(swaggerUi, {
      routePrefix: "/docs",
      staticCSP: POLICY,
      uiConfig: {
        deepLinking: true,
        displayOperationId: true,
        persistAuthorization: true,
        tryItOutEnabled: true,
      },
    });
    app.addHook("onReady", async () => {
      Object.assign(document, app.openapi());
    });

    app.get("/", async (request, reply) => {
      if (request.headers.accept?.includes("text/html")) {
        return reply.redirect("/docs");
      }
      return reply.callNotFound();
    });
  },
  { name: "docs", dependencies: ["openapi"] },
);
