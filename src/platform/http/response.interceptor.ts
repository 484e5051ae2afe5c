import { Injectable, StandardSchemaSerializerInterceptor } from '@nestjs/common';

/**
 * Checks every answer against the schema of its `@Endpoint` and removes keys the schema does not have. The framework
 * would check the elements of an array one by one; here the schema describes the answer as a whole, so that it is
 * also what the documentation shows and a list may have several views.
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
