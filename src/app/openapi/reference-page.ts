import type { OpenAPIObject } from '@nestjs/swagger';
import { html, type Html, type HtmlValue } from '../../platform/pages/html.ts';
import { operationsOf } from './operations-of.ts';
import type { Media, Operation, Parameter } from './operations.ts';
import {
  example,
  fieldsOf,
  inline,
  prose,
  row,
  schemaAnchor,
  typeOf,
} from './reference-schemas.ts';
import { triggersPart } from './reference-triggers.ts';
import { resolved, type Schemas } from './schemas.ts';

type Listed = ReturnType<typeof operationsOf>[number];

/**
 * Everything that a document says, as one page without JavaScript: a list of groups, each operation
 * with its parameters, body, example and responses, each trigger of webhooks, and each schema with
 * its fields.
 * @param tryAt path of the page on which operations can be tried
 */
export function reference(document: OpenAPIObject, tryAt: string): Html {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const operations = operationsOf(document);
  const groups = (document.tags ?? []).map(({ name, description }) => ({
    name,
    description,
    operations: operations.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const triggers = triggersPart(document);
  return html`<nav aria-label="Groups">
      <ul>
        <li><a href="#about">About</a></li>
        ${groups.map(({ name }) => html`<li><a href="#${groupAnchor(name)}">${name}</a></li> `)}
        ${triggers && html`<li><a href="#triggers">triggers</a></li>`}
        <li><a href="#schemas">Schemas</a></li>
      </ul>
    </nav>
    <main id="docs">
      <section id="about">${prose(document.info.description)}</section>
      ${groups.map(
        ({ name, description, operations: listed }) =>
          html`<section id="${groupAnchor(name)}">
            <h2>${name}</h2>
            ${prose(description)}${listed.map((one) => operationPart(one, name, schemas, tryAt))}
          </section>`,
      )}
      ${triggers}
      <section id="schemas">
        <h2>Schemas</h2>
        ${Object.entries(schemas).map(
          ([name, schema]) =>
            html`<article id="${schemaAnchor(name)}">
              <h3>${name}</h3>
              ${prose(schema.description)}${fieldsOf(schema)}${example(schema.example)}
            </article>`,
        )}
      </section>
    </main>`;
}

const groupAnchor = (name: string): string => `group-${name.replaceAll(' ', '-')}`;

function operationPart(
  { path, verb, operation }: Listed,
  tag: string,
  schemas: Schemas,
  tryAt: string,
): Html {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const attempt = `${tryAt}#/${encodeURIComponent(tag)}/${operationId}`;
  return html`<article id="${operationId}">
    <h3><span class="verb">${verb.toUpperCase()}</span> <code>${path}</code></h3>
    <p>
      <strong>${inline(summary ?? '')}</strong>${operation.deprecated ? ' (deprecated)' : ''}
      <a href="${attempt}" aria-label="Try it: ${verb.toUpperCase()} ${path}">Try it</a>
    </p>
    ${prose(description)}
    <p>Credentials: ${credentialsOf(operation)}</p>
    ${
      parameters.length > 0 &&
      html`<h4>Parameters</h4>
        <dl>${parameters.map(parameterRow)}</dl>`
    }
    ${Object.entries(requestBody?.content ?? {}).map(([type, media]) =>
      bodyPart(type, media, schemas),
    )}
    <h4>Responses</h4>
    <dl>
      ${Object.entries(responses).map(([status, { description: text, content = {} }]) =>
        row(status, bodyTypes(content), false, text),
      )}
    </dl>
  </article>`;
}

function credentialsOf({ security = [] }: Operation): HtmlValue {
  const names = security.flatMap((choice) => Object.keys(choice as object));
  if (names.length === 0) return 'none';
  return names.map((name, at) => [at > 0 ? ' or ' : '', html`<code>${name}</code>`]);
}

function parameterRow(parameter: Parameter): Html {
  const { name, in: place, required = false, schema = {}, description } = parameter;
  const shown = `${description ? `${description}. ` : ''}Example: \`${String(parameter.example)}\``;
  return row(name, html`${typeOf(schema)}, in the ${place}`, required, shown);
}

function bodyPart(type: string, media: Media, schemas: Schemas): Html {
  const schema = media.schema ?? {};
  const named = schema.$ref === undefined ? fieldsOf(schema) : html`<p>${typeOf(schema)}</p>`;
  return html`<h4>Body: ${type}</h4>
    ${named}${example(media.example ?? resolved(schemas, schema).example)}`;
}

function bodyTypes(content: Record<string, Media>): HtmlValue {
  return Object.entries(content).map(([type, { schema = {} }]) =>
    type === 'application/json' ? typeOf(schema) : type,
  );
}
