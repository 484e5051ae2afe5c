import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { VERSION } from '../../platform/base/version.ts';
import { OTHER_PATHS } from '../../platform/http/aliases.ts';
import { isOperatorPath } from '../../platform/http/listeners/surface.ts';
import { describeFields, describeParameter } from './descriptions.ts';
import { operationsOf } from './operations-of.ts';
import { describeOperation, type Operation, separateShapes } from './operations.ts';
import { namesIn, placeNullable, resolved, type Schema, type Schemas, walk } from './schemas.ts';
import { ADMIN_TAGS, type Tag, TAGS } from './tags.ts';
import { addWebhooks } from './webhooks/webhook-operations.ts';

const TOKEN = 'Access token of an account: an opaque text, which is valid until it is revoked';

/** The OpenAPI document of all endpoints for applications; committed as `openapi.json`. */
export function createOpenApiDocument(app: INestApplication): OpenAPIObject {
  const options = basics('Carillon API', TAGS)
    .setDescription(
      [
        'One HTTP API over mail and calendar accounts: read messages, send them now or later, follow job statuses, manage calendars and events, remind participants, and get changes by webhook. The wire format is that of the Nylas API 2.5.',
        'Times are Unix seconds. Ids are opaque texts.',
        'If a query parameter that is not a list is repeated, its last value counts. A query parameter or a field of a body that an endpoint does not know has no effect: the response names it in the headers `X-Carillon-Ignored` (names, percent-encoded, separated by commas; those of nested fields with their path, such as `participants.0.emial`) and `Warning` (with the nearest known name). A server with `STRICT_REQUESTS=true` refuses it with 400. Fields that official clients are known to send back are ignored without a report.',
        'Some responses have another shape under a condition, such as ids instead of objects with `view=ids`. The schema of such a response is the usual shape; `x-other-shapes` lists the others. Operations with `x-alias-of` are other addresses of an operation, for clients that need them.',
      ].join('\n\n'),
    )
    .addSecurity('accessToken', { type: 'http', scheme: 'bearer', description: TOKEN })
    .addSecurity('accessTokenAsUser', {
      type: 'http',
      scheme: 'basic',
      description: 'Access token as user name, empty password',
    })
    .addSecurity('application', {
      type: 'http',
      scheme: 'basic',
      description: 'Client id as user name, client secret as password',
    })
    .addSecurity('applicationSecret', {
      type: 'http',
      scheme: 'basic',
      description: 'Client secret as user name, empty password',
    })
    .build();
  const document = documentOf(app, options, (path) => !isOperatorPath(path));
  // A copy, because generated documents share objects with the metadata of the program.
  const copy = structuredClone(document);
  addWebhooks(copy);
  return finished(copy);
}

/** The OpenAPI document of the API for operators; committed as `openapi-admin.json`. */
export function createAdminOpenApiDocument(app: INestApplication): OpenAPIObject {
  const options = basics('Carillon admin API', ADMIN_TAGS)
    .setDescription(
      'What those who run the server see and do, over all applications and accounts: find jobs, steer them, and read the audit log. It is served at `OPERATOR_PORT`, never at the public address of a production server.',
    )
    .addSecurity('operatorToken', {
      type: 'http',
      scheme: 'bearer',
      description: 'Token of an operator: `carillon operator token create`',
    })
    .build();
  return finished(documentOf(app, options, isOperatorPath));
}

/** The part of the generated document whose paths are included, with the schemas they need. */
function documentOf(
  app: INestApplication,
  options: Omit<OpenAPIObject, 'paths'>,
  includes: (path: string) => boolean,
): OpenAPIObject {
  const whole = SwaggerModule.createDocument(app, options, {
    operationIdFactory: (controller, method) =>
      `${controller.replace(/Controller$/, '')}_${method}`,
  });
  const paths = Object.fromEntries(Object.entries(whole.paths).filter(([path]) => includes(path)));
  const all = whole.components?.schemas ?? {};
  const used = namesIn(paths, all as Schemas);
  const schemas = Object.fromEntries(Object.entries(all).filter(([name]) => used.has(name)));
  const tags = new Set(
    operationsOf({ ...whole, paths }).flatMap(({ operation }) => operation.tags),
  );
  return {
    ...whole,
    paths,
    components: { ...whole.components, schemas },
    tags: (whole.tags ?? []).filter(({ name }) => tags.has(name)),
  };
}

/** Title, version, license, server and tags of a document. */
function basics(title: string, tags: readonly Tag[]): DocumentBuilder {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.0.4')
    .setTitle(title)
    .setVersion(VERSION)
    .setLicense('Apache-2.0', 'https://www.apache.org/licenses/LICENSE-2.0')
    .addServer('/', 'The server from which this document was read');
  for (const [name, description] of tags) builder.addTag(name, description);
  return builder;
}

/**
 * Completes a generated document: descriptions and examples of fields and parameters, one usual
 * shape for each response, `nullable` where tools look for it, security of public operations.
 */
function finished(generated: OpenAPIObject): OpenAPIObject {
  // A copy, because generated documents share objects with the metadata of the program.
  const document = structuredClone(generated);
  delete (document.info as { contact?: object }).contact;
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  for (const { path, verb, operation } of operationsOf(document)) {
    const otherPath = OTHER_PATHS.find(([from]) => path.startsWith(from));
    describeOperation(operation, otherPath && path.replace(...otherPath));
    for (const parameter of operation.parameters ?? []) describeParameter(parameter, path);
    Object.values(operation.responses).forEach(separateShapes);
    if (verb === 'delete') allowNoBody(operation, schemas);
  }
  for (const { operation } of operationsOf(document))
    for (const schema of schemasOf(operation)) walk(schema, (one) => placeNullable(schemas, one));
  for (const schema of Object.values(schemas)) walk(schema, (one) => placeNullable(schemas, one));
  nameContent(schemas);
  describeFields(document, schemas);
  return document;
}

/** A DELETE whose body has no required field usually has no body. */
function allowNoBody({ requestBody }: Operation, schemas: Schemas): void {
  const body = requestBody?.content['application/json']?.schema;
  if (requestBody && body) requestBody.required = Boolean(resolved(schemas, body).required?.length);
}

/**
 * Gives `original_data` of job statuses the schema of the outbox, whose messages are the only jobs
 * with such data. The module of job statuses lies below the outbox and cannot name its schema.
 */
function nameContent({ JobStatus: job, OutboxOriginalData: content }: Schemas): void {
  if (job?.properties && content)
    job.properties['original_data'] = { $ref: '#/components/schemas/OutboxOriginalData' };
}

/** The schemas that stand in an operation itself. */
function schemasOf({ parameters = [], requestBody, responses }: Operation): Schema[] {
  const media = [requestBody, ...Object.values(responses)].flatMap((one) =>
    Object.values(one?.content ?? {}),
  );
  return [...parameters, ...media].flatMap(({ schema }) => schema ?? []);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/**
 * The text of `openapi.json`. Keys are sorted, so that the file changes only if the API changes.
 */
export function openApiText(document: OpenAPIObject): string {
  return `${JSON.stringify(sorted(document), null, 2)}\n`;
}
