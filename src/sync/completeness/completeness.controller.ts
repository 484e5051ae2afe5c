import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { ApplicationId, ApplicationSecretAuth } from '../../platform/auth/access.decorators.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toCompletenessView } from './completeness.mapper.ts';
import {
  type CompletenessQuery,
  completenessQuery,
  completenessView,
} from './completeness.schema.ts';
import { CompletenessService } from './completeness.service.ts';

@ApiTags('accounts')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@ApiErrors(404)
@Controller('a/:client_id/accounts/:id/completeness')
export class CompletenessController {
  constructor(private readonly completeness: CompletenessService) {}

  @Get()
  @Endpoint({
    summary: 'Prove for each day that nothing of an account is missing',
    description:
      'Compares what the provider listed in the last audit, what is stored here, the change log, the events of the changes, and the deliveries of these to each webhook that is not inactive, by its triggers and filters. Differences are counted and named.',
    response: completenessView,
  })
  async get(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Query({ schema: completenessQuery }) { days }: CompletenessQuery,
  ) {
    return toCompletenessView(await this.completeness.of(applicationId, id, days));
  }
}
