import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/internal';
import type { ZodType } from 'zod';
import { type BodyShape, bodyShape, tolerate } from '../wire/body-fields.ts';
import {
  isOauthRequest,
  queryFields,
  type Refused,
  refusedUnknown,
} from '../wire/schema-fields.ts';
import { CLIENT_FIELDS } from './client-fields.ts';

type RouteParameters = Readonly<Record<string, { schema?: ZodType }>>;

/** The names that a handler knows. */
export interface KnownNames {
  /** Query parameters. */
  parameters: readonly string[];
  /** Absent if the handler accepts any body. A handler without a body knows no fields. */
  body: BodyShape | undefined;
  /** Which unknown fields are refused even if the server is not strict. */
  refused: Refused | undefined;
}

function shapeOf(schema: ZodType): BodyShape | undefined {
  const shape = bodyShape(schema);
  const id = schema.meta()?.id;
  for (const { bodies, fields } of CLIENT_FIELDS)
    if (id !== undefined && bodies.includes(id))
      for (const field of fields) tolerate(shape, field.split('.'));
  return shape;
}

/**
 * Reads the names that a handler knows from the schemas of its parameters.
 * @param handler name of a method of the controller
 * @returns `null` if the handler ignores other names on purpose
 */
export function knownNames(controller: object, handler: string): KnownNames | null {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, handler) ??
    {}) as RouteParameters;
  const schemasOf = (type: RouteParamtypes): ZodType[] =>
    Object.entries(parameters)
      .filter(([key]) => key.startsWith(`${type}:`))
      .flatMap(([, { schema }]) => schema ?? []);
  const queries = schemasOf(RouteParamtypes.QUERY);
  const bodies = schemasOf(RouteParamtypes.BODY);
  if ([...queries, ...bodies].some(isOauthRequest)) return null;
  const [body] = bodies;
  return {
    parameters: queries.flatMap((schema) => [...queryFields(schema).keys()]),
    body: body ? shapeOf(body) : { fields: new Map() },
    refused: body && refusedUnknown(body),
  };
}
