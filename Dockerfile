# Builds in one image and runs in another, so that no compiler and no source gets
# into what runs. See docs/install.md.
FROM node:22.16.0-bookworm-slim AS build
# For better-sqlite3, where it has no prebuilt binary for this platform.
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install -y --no-install-recommends g++ make python3 \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
# Before the sources: as long as these stay the same, so does the layer.
COPY package.json package-lock.json ./
COPY packages/client/package.json packages/client/
RUN npm ci
COPY . .
# Then what the bundle lacks, with the optional packages, in the versions that were tested.
RUN npm run -s build \
  && node scripts/manifest.js >manifest.json \
  && mv manifest.json package.json \
  && npm install --omit=dev

FROM node:22.16.0-bookworm-slim
ENV NODE_ENV=production \
  HOST=0.0.0.0 \
  PORT=8375 \
  DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist/bundle ./dist/bundle
COPY --from=build /app/dist/documents ./dist/documents
COPY --from=build /app/dist/manual ./dist/manual
COPY --from=build /app/dist/pages ./dist/pages
COPY --from=build /app/demo ./demo
# A volume takes its owner from here.
RUN install -d -o 1000 -g 1000 -m 0700 /data
# node, by its number: Kubernetes can tell that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 8375
# Its own port, as the command sees it, and no curl in the image.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/bundle/foyer.js"]
CMD ["serve"]
