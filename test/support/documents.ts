import type { INestApplication } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import {
  createAdminOpenApiDocument,
  createOpenApiDocument,
} from '../../src/app/openapi/document.ts';

/*
 * Every application with all roles has the same documents. Making one takes more than a second of
 * processor time, so a group of files makes each once.
 */

let api: OpenAPIObject | undefined;
let admin: OpenAPIObject | undefined;

/** The document of the API for applications. Nobody may change it. */
export const apiDocumentOf = (app: INestApplication): OpenAPIObject =>
  (api ??= createOpenApiDocument(app));

/** The document of the API for operators. Nobody may change it. */
export const adminDocumentOf = (app: INestApplication): OpenAPIObject =>
  (admin ??= createAdminOpenApiDocument(app));
