import type { ArgumentMetadata } from '@nestjs/common';
import { StandardSchemaValidationPipe } from '@nestjs/common';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { InvalidInputError } from '../common/errors/domain-error.ts';

type Path = NonNullable<StandardSchemaV1.Issue['path']>;

const keyOf = (segment: Path[number]): PropertyKey => (typeof segment === 'object' ? segment.key : segment);

/** Whether there is nothing at `path` in what was sent. */
function isAbsent(value: unknown, path: Path): boolean {
  let current = value;
  for (const segment of path) {
    if (typeof current !== 'object' || current === null) return false;
    current = (current as Record<PropertyKey, unknown>)[keyOf(segment)];
  }
  return current === undefined;
}

const MAX_DEPTH = 100;

/**
 * @throws {InvalidInputError} for what no schema allows and no table stores: the NUL character and halves of
 *   characters (PostgreSQL refuses them) and nesting so deep that walking it would exhaust the stack
 */
function assertStorable(value: unknown, depth = 0): void {
  if (typeof value === 'string') {
    if (value.includes('\0')) throw new InvalidInputError('Text must not contain the NUL character');
    if (!value.isWellFormed()) throw new InvalidInputError('Text must not contain half a surrogate pair');
  } else if (typeof value === 'object' && value !== null) {
    if (depth === MAX_DEPTH)
      throw new InvalidInputError(`The request is nested deeper than ${MAX_DEPTH} levels`);
    for (const [key, inner] of Object.entries(value)) {
      assertStorable(key);
      assertStorable(inner, depth + 1);
    }
  }
}

const MAX_ISSUES = 10;

/**
 * Validates bodies and queries by the schema given to `@Body({ schema })` and `@Query({ schema })`. The error names
 * every wrong field (the first ten), and lists required ones that are absent in `missing_fields`.
 */
export class SchemaValidationPipe extends StandardSchemaValidationPipe {
  override async transform<T = unknown>(value: T, metadata: ArgumentMetadata): Promise<T> {
    const schema = metadata.schema as StandardSchemaV1 | undefined;
    if (!schema || !this.toValidate(metadata)) return value;
    let input: unknown = value;
    if (metadata.type === 'body') {
      input = value ?? {};
      if (typeof input !== 'object' || Array.isArray(input))
        throw new InvalidInputError('Invalid request body: must be a JSON object');
    }
    assertStorable(input);
    this.stripProtoKeys(input);
    const result = await this.validate<T>(input, schema);
    if (!result.issues) return result.value;
    const shown = result.issues.slice(0, MAX_ISSUES);
    const missingFields: string[] = [];
    const messages = shown.map(({ path = [], message }) => {
      const name = path.map((segment) => String(keyOf(segment))).join('.');
      if (path.length > 0 && isAbsent(input, path)) {
        missingFields.push(name);
        return `${name} is required`;
      }
      return name ? `${name}: ${message}` : message;
    });
    if (result.issues.length > shown.length) messages.push(`and ${result.issues.length - shown.length} more`);
    throw new InvalidInputError(messages.join('; '), missingFields.length > 0 ? { missingFields } : {});
  }
}
