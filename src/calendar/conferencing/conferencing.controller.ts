import { Body, Controller, Delete, Get, Param, Put } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import { ApplicationSecretAuth, ApplicationId } from '../../platform/auth/access.decorators.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { toConferencingServiceView } from './conferencing.mapper.ts';
import {
  conferencingDeletedView,
  conferencingServiceList,
  conferencingServiceView,
  type SetConferencing,
  setConferencingSchema,
} from './conferencing.schema.ts';
import { ConferencingServices } from './conferencing.service.ts';

@ApiTags('conferencing')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@Controller('a/:client_id/conferencing')
export class ConferencingController {
  constructor(private readonly services: ConferencingServices) {}

  @Get()
  @ApiErrors(503)
  @Endpoint({
    summary: 'List the services that create meetings for events',
    response: conferencingServiceList,
  })
  async list(@ApplicationId() applicationId: string) {
    return (await this.services.list(applicationId)).map(toConferencingServiceView);
  }

  @Get(':id')
  @ApiErrors(404, 503)
  @Endpoint({ summary: 'Get one conferencing service', response: conferencingServiceView })
  async get(@ApplicationId() applicationId: string, @Param('id') id: string) {
    return toConferencingServiceView(await this.services.get(applicationId, id));
  }

  @Put()
  @ApiErrors(503)
  @Endpoint({
    summary: 'Set up or replace the service that `conferencing.provider` with `autocreate` uses',
    description:
      'An application has at most one service for each provider. The service is asked before it is stored: settings that it refuses are answered with 400, and a service that does not respond with 503. In both cases nothing is stored.',
    response: conferencingServiceView,
  })
  async set(
    @ApplicationId() applicationId: string,
    @Body({ schema: setConferencingSchema }) { provider, kind, settings }: SetConferencing,
  ) {
    return toConferencingServiceView(
      await this.services.set(applicationId, provider, kind, settings),
    );
  }

  @Delete(':id')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Remove a conferencing service',
    description: 'Existing meetings stay as they are.',
    response: conferencingDeletedView,
  })
  async delete(@ApplicationId() applicationId: string, @Param('id') id: string) {
    await this.services.remove(applicationId, id);
    return { success: true };
  }
}
