import { Injectable, StandardSchemaSerializerInterceptor } from '@nestjs/common';

/**
 * Checks every response against the schema of its `@Endpoint` and removes keys that the schema does
 * not have. The framework would check the elements of an array one by one. Here the schema
 * describes the whole response, so that it matches the documentation and a list may have several
 * views.
 */
@Injectable()
export class ResponseInterceptor extends StandardSchemaSerializerInterceptor {
  override serialize(
    ...[response, schema, options]: Parameters<StandardSchemaSerializerInterceptor['serialize']>
  ): ReturnType<StandardSchemaSerializerInterceptor['serialize']> {
    return schema && Array.isArray(response)
      ? this.transformToPlain(response, schema, options)
      : super.serialize(response, schema, options);
  }
}
