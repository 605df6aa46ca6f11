/** Columns of tables of people in public schemas, names only: what `init` hides, what it lets nobody write, and what is left as it is. */

export interface ToldColumns {
  readonly table: string
  readonly secret: string
  readonly power: string
  readonly plain: string
}

export const USER_COLUMNS: Readonly<Record<string, ToldColumns>> = {
  BookStack: {
    table: 'users',
    secret: 'password',
    power: 'email_confirmed external_auth_id',
    plain: 'id name email image_id system_name slug',
  },
  auth: {
    table: 'users',
    secret: 'encrypted_password confirmation_token recovery_token email_change_token',
    power: 'role confirmed_at raw_app_meta_data is_super_admin',
    plain:
      'instance_id id aud email invited_at confirmation_sent_at recovery_sent_at email_change email_change_sent_at last_sign_in_at raw_user_meta_data created_at updated_at',
  },
  cacti: {
    table: 'user_auth',
    secret: 'password password_change password_history tfa_secret',
    power: 'must_change_password enabled locked failed_attempts reset_perms tfa_enabled',
    plain:
      'id username realm full_name email_address show_tree show_list show_preview graph_settings login_opts policy_graphs policy_trees policy_hosts policy_graph_templates lastchange lastlogin lastfail',
  },
  concourse: {
    table: 'users',
    secret: '',
    power: 'sub',
    plain: 'id username connector last_login',
  },
  discourse: {
    table: 'users',
    secret: 'password_hash salt',
    power:
      'active admin trust_level approved approved_by_id approved_at suspended_at suspended_till flag_level moderator silenced_till group_locked_trust_level manual_locked_trust_level',
    plain:
      'id username created_at updated_at name last_posted_at username_lower last_seen_at last_emailed_at previous_visit_at date_of_birth views ip_address title uploaded_avatar_id locale primary_group_id staged first_seen_at secure_identifier',
  },
  django: {
    table: 'auth_user',
    secret: 'password',
    power: 'is_superuser is_staff is_active',
    plain: 'id last_login username first_name last_name email date_joined',
  },
  documenso: {
    table: 'User',
    secret: 'password twoFactorBackupCodes twoFactorSecret',
    power: 'emailVerified identityProvider roles disabled twoFactorEnabled',
    plain: 'id name email source signature createdAt customerId profileURL avatarImageId updatedAt lastSignedIn',
  },
  dub: {
    table: 'User',
    secret: 'passwordHash',
    power: 'emailVerified isMachine invalidLoginAttempts lockedAt',
    plain: 'id name email image createdAt defaultWorkspace defaultPartnerId source sentMail',
  },
  ejabberd: {
    table: 'users',
    secret: 'password serverkey salt',
    power: 'type',
    plain: 'username server_host iterationcount created_at',
  },
  fat_free_crm: {
    table: 'users',
    secret:
      'encrypted_password password_salt reset_password_token remember_token authentication_token confirmation_token',
    power: 'deleted_at admin suspended_at confirmed_at',
    plain:
      'username email first_name last_name title company alt_email phone mobile aim yahoo google last_sign_in_at current_sign_in_at last_sign_in_ip current_sign_in_ip sign_in_count created_at updated_at unconfirmed_email reset_password_sent_at remember_created_at confirmation_sent_at subscribe_to_comment_replies receive_assigned_notifications',
  },
  feedbin: {
    table: 'users',
    secret:
      'password_digest auth_token password_reset_token starred_token inbound_email_token newsletter_token page_token',
    power: 'plan_id admin suspended price_tier twitter_auth_failures',
    plain:
      'id email customer_id last_4_digits created_at updated_at password_reset_sent_at settings tag_visibility expires_at',
  },
  'firefly-iii': {
    table: 'users',
    secret: 'password remember_token blocked_code mfa_secret',
    power: 'blocked user_group_id',
    plain: 'id email reset objectguid domain',
  },
  formbricks: {
    table: 'User',
    secret: 'password backupCodes twoFactorSecret',
    power:
      'email_verified identityProvider identityProviderAccountId groupId isActive email_verified_at emailVerified twoFactorEnabled',
    plain:
      'id created_at updated_at name email onboardingDisplayed intention notificationSettings imageUrl locale lastLoginAt createdAt updatedAt',
  },
  'freeradius-server': {
    table: 'radcheck',
    secret: '',
    power: '',
    plain: 'id username attribute op value attrvalue UserName Attribute Value',
  },
  freescout: {
    table: 'users',
    secret: 'password invite_hash',
    power: 'role type is_user_workflow_related locked status permissions',
    plain:
      'id first_name last_name email timezone photo_url invite_state emails job_title phone time_format enable_kb_shortcuts locale',
  },
  hcb: {
    table: 'users',
    secret: 'birthday_ciphertext',
    power:
      'access_level locked_at phone_number_verified pretend_is_not_admin running_balance_enabled use_sms_auth use_two_factor_authentication verified',
    plain:
      'card_locking_suppressed_until cards_locked charge_notifications comment_notifications created_at creation_method discord_id email full_name joined_as_teenager monthly_donation_summary monthly_follower_summary payout_method_id payout_method_type phone_number phone_number_verification_bypassed preferred_name receipt_report_option seasonal_themes_enabled session_validity_preference sessions_reported slug subscribed_to_loops_at teenager updated_at webauthn_id',
  },
  ifme: {
    table: 'users',
    secret:
      'encrypted_password reset_password_token token invitation_token refresh_token confirmation_token session_token',
    power: 'uid provider invitation_limit access_expires_at banned admin failed_attempts locked_at confirmed_at',
    plain:
      'email reset_password_sent_at remember_created_at sign_in_count current_sign_in_at last_sign_in_at current_sign_in_ip last_sign_in_ip created_at updated_at name location timezone about avatar conditions invitation_created_at invitation_sent_at invitation_accepted_at invited_by_type invited_by_id invitations_count comment_notify ally_notify group_notify meeting_notify locale third_party_avatar confirmation_sent_at unconfirmed_email',
  },
  inaturalist: {
    table: 'users',
    secret: 'encrypted_password password_salt remember_token confirmation_token reset_password_token unlock_token',
    power:
      'confirmed_at deleted_at suspended_at state suspension_reason spammer subscriptions_suspended_at lat_lon_acc_admin_level curator_sponsor_id suspended_by_user_id donorbox_plan_type donorbox_plan_status donorbox_plan_started_at locked_at failed_attempts oauth_application_id fundraiseup_plan_frequency fundraiseup_plan_status fundraiseup_plan_started_at suspended_until',
    plain:
      'created_at updated_at remember_token_expires_at confirmation_sent_at reset_password_sent_at remember_created_at icon_updated_at id login name email time_zone description life_list_id observations_count identifications_count journal_posts_count life_list_taxa_count old_preferences icon_url last_ip uri locale site_id place_id spam_count last_active test_groups latitude longitude icon_file_name icon_content_type icon_file_size search_place_id birthday pi_consent_at donorbox_donor_id uuid species_count data_transfer_consent_at unconfirmed_email annotated_observations_count icon_path_version canonical_email virtuous_donor_contact_id',
  },
  joomla: {
    table: 'users',
    secret: 'password activation otpKey otep',
    power: 'block authProvider',
    plain: 'id name username email sendEmail registerDate lastvisitDate params lastResetTime resetCount requireReset',
  },
  kamailio: {
    table: 'user',
    secret: 'password',
    power: 'uid grp active',
    plain: 'gid username firstname lastname email department regdate lastvisit',
  },
  koel: {
    table: 'users',
    secret:
      'password invitation_token subsonic_api_key subsonic_api_key_hash two_factor_secret two_factor_recovery_codes',
    power: 'is_admin sso_provider sso_id organization_id two_factor_confirmed_at',
    plain: 'id name email preferences invited_at invitation_accepted_at invited_by_id avatar public_id',
  },
  'lago-api': {
    table: 'users',
    secret: 'password_digest',
    power: '',
    plain: 'id email created_at updated_at',
  },
  lemmy: {
    table: 'local_user',
    secret: 'password_encrypted totp_2fa_secret totp_2fa_url',
    power: 'admin email_verified totp_2fa_enabled',
    plain:
      'id person_id email show_nsfw theme default_sort_type default_listing_type lang show_avatars send_notifications_to_email matrix_user_id validator_time show_scores show_bot_accounts show_read_posts show_new_post_notifs accepted_application open_links_in_new_tab blur_nsfw auto_expand infinite_scroll_enabled post_listing_mode enable_keyboard_navigation enable_animated_images collapse_bot_comments last_donation_notification enable_private_messages default_comment_sort_type auto_mark_fetched_posts_as_read hide_media default_post_time_range_seconds show_score show_person_votes default_items_per_page',
  },
  lobsters: {
    table: 'users',
    secret: 'password_digest password_reset_token session_token rss_token mailing_list_token token',
    power:
      'is_admin is_moderator karma banned_at banned_by_user_id banned_reason deleted_at disabled_invite_at disabled_invite_by_user_id disabled_invite_reason',
    plain:
      'username email created_at about invited_by_user_id pushover_mentions mailing_list_mode settings show_email last_read_newest_story last_read_newest_comment',
  },
  mastodon: {
    table: 'users',
    secret:
      'encrypted_password reset_password_token confirmation_token encrypted_otp_secret encrypted_otp_secret_iv encrypted_otp_secret_salt otp_required_for_login otp_backup_codes remember_token sign_in_token',
    power: 'admin confirmed_at account_id disabled moderator approved',
    plain:
      'email created_at updated_at reset_password_sent_at remember_created_at sign_in_count current_sign_in_at last_sign_in_at current_sign_in_ip last_sign_in_ip confirmation_sent_at unconfirmed_email locale consumed_timestep last_emailed_at filtered_languages invite_id chosen_languages created_by_application_id sign_in_token_sent_at webauthn_id sign_up_ip skip_sign_in_token',
  },
  maybe: {
    table: 'users',
    secret: 'password_digest otp_secret otp_backup_codes',
    power: 'role active otp_required',
    plain:
      'family_id first_name last_name email created_at updated_at onboarded_at unconfirmed_email show_sidebar default_period last_viewed_chat_id show_ai_sidebar ai_enabled theme rule_prompts_disabled rule_prompt_dismissed_at goals set_onboarding_preferences_at set_onboarding_goals_at',
  },
  mediawiki: {
    table: 'user',
    secret: 'user_password user_newpassword user_token user_email_token',
    power: '',
    plain:
      'user_id user_name user_real_name user_newpass_time user_email user_touched user_email_authenticated user_email_token_expires user_registration user_editcount user_password_expires user_is_temp',
  },
  monica: {
    table: 'users',
    secret: 'password invitation_code two_factor_secret two_factor_recovery_codes',
    power: 'email_verified_at is_account_administrator two_factor_confirmed_at is_instance_administrator',
    plain:
      'id first_name last_name email name_order date_format timezone number_format default_map_site distance_format help_shown invitation_accepted_at locale contact_sort_order',
  },
  moodle: {
    table: 'mdl_user',
    secret: 'password secret',
    power: 'auth confirmed deleted suspended',
    plain:
      'id policyagreed mnethostid username idnumber firstname lastname email emailstop phone1 phone2 institution department address city country lang theme timezone firstaccess lastaccess lastlogin currentlogin lastip picture description mailformat trustbitmask',
  },
  'musicbrainz-server': {
    table: 'editor',
    secret: 'password ha1 bcrypt_password',
    power: 'privs deleted',
    plain:
      'id name email website bio member_since email_confirm_date last_login_date last_updated birth_date gender area',
  },
  octobox: {
    table: 'users',
    secret:
      'api_token encrypted_access_token encrypted_access_token_iv encrypted_personal_access_token encrypted_personal_access_token_iv encrypted_app_token encrypted_app_token_iv',
    power: '',
    plain:
      'github_id github_login created_at updated_at last_synced_at refresh_interval sync_job_id theme display_comments disable_confirmations',
  },
  openfoodnetwork: {
    table: 'spree_users',
    secret:
      'encrypted_password password_salt remember_token persistence_token reset_password_token perishable_token authentication_token unlock_token spree_api_key api_key confirmation_token',
    power: 'failed_attempts locked_at enterprise_limit confirmed_at disabled_at provider uid admin',
    plain:
      'email sign_in_count last_request_at current_sign_in_at last_sign_in_at current_sign_in_ip last_sign_in_ip login ship_address_id bill_address_id created_at updated_at remember_created_at reset_password_sent_at locale confirmation_sent_at unconfirmed_email show_api_key_view terms_of_service_accepted_at',
  },
  'openstreetmap-website': {
    table: 'users',
    secret: 'pass_crypt pass_salt',
    power: 'status auth_uid auth_provider',
    plain:
      'email id creation_time display_name data_public description home_lat home_lon home_zoom email_valid new_email languages terms_agreed consider_pd preferred_editor terms_seen description_format changesets_count traces_count diary_entries_count image_use_gravatar home_tile tou_agreed diary_comments_count note_comments_count creation_address home_location_name company public_heatmap',
  },
  phpbb: {
    table: 'phpbb_users',
    secret: 'user_password user_actkey reset_token user_newpasswd user_form_salt',
    power: 'user_type group_id user_permissions user_perm_from user_login_attempts user_inactive_reason user_rank',
    plain:
      'user_id user_ip user_regdate username user_passchg user_email user_birthday user_lastvisit user_lastpage user_posts user_lang user_timezone user_colour user_avatar user_sig',
  },
  pixelfed: {
    table: 'users',
    secret: 'password 2fa_secret 2fa_backup_codes app_register_token',
    power: 'is_admin email_verified_at 2fa_enabled 2fa_setup_at status has_roles role_id',
    plain:
      'id name username email delete_after profile_id language has_interstitial last_active_at guid domain register_source app_register_ip parent_id',
  },
  publify: {
    table: 'users',
    secret: 'encrypted_password remember_token reset_password_token',
    power: 'state',
    plain:
      'login email name notify_via_email notify_on_new_articles notify_on_comments remember_token_expires_at last_connection settings resource_id reset_password_sent_at remember_created_at sign_in_count current_sign_in_at last_sign_in_at current_sign_in_ip last_sign_in_ip created_at updated_at profile text_filter_name',
  },
  redmine: {
    table: 'users',
    secret: 'hashed_password salt twofa_totp_key',
    power: 'admin status auth_source_id type must_change_passwd twofa_scheme twofa_totp_last_used_at twofa_required',
    plain:
      'login firstname lastname mail mail_notification last_login_on language created_on updated_on identity_url passwd_changed_on',
  },
  roundcubemail: {
    table: 'users',
    secret: '',
    power: 'failed_login failed_login_counter',
    plain: 'user_id username mail_host created last_login language preferences alias',
  },
  'rubygems.org': {
    table: 'users',
    secret:
      'api_key confirmation_token encrypted_password mfa_hashed_recovery_codes password_reset_token_digest remember_token salt token totp_seed',
    power: 'blocked_email deleted_at email_confirmed mfa_level',
    plain:
      'created_at email email_reset full_name handle hide_email mail_fails password_reset_token_expires_at policies_acknowledged_at public_email remember_token_expires_at token_expires_at twitter_username unconfirmed_email updated_at webauthn_id',
  },
  'snipe-it': {
    table: 'users',
    secret: 'password activation_code persist_code reset_password_code remember_token two_factor_secret',
    power:
      'permissions activated activated_at company_id ldap_import two_factor_enrolled two_factor_optin state scim_externalid autoassign_licenses vip',
    plain:
      'id email last_login first_name last_name website country gravatar location_id phone jobtitle manager_id employee_num avatar username notes locale show_in_list department_id address city zip skin remote created_by start_date end_date enable_sounds enable_confetti',
  },
  solidus: {
    table: 'spree_users',
    secret: 'api_key crypted_password salt remember_token persistence_token single_access_token perishable_token',
    power: 'failed_login_count openid_identifier',
    plain:
      'email remember_token_expires_at login_count last_request_at current_login_at last_login_at current_login_ip last_login_ip login ship_address_id bill_address_id created_at updated_at',
  },
  spree: {
    table: 'spree_users',
    secret:
      'encrypted_password password_salt remember_token persistence_token reset_password_token perishable_token authentication_token unlock_token',
    power: 'failed_attempts locked_at',
    plain:
      'email sign_in_count last_request_at current_sign_in_at last_sign_in_at current_sign_in_ip last_sign_in_ip login ship_address_id bill_address_id remember_created_at reset_password_sent_at created_at updated_at',
  },
  synapse: {
    table: 'users',
    secret: '',
    power: 'is_guest user_type deactivated shadow_banned approved locked suspended',
    plain: 'upgrade_ts consent_version consent_server_notice_sent consent_ts',
  },
  umami: {
    table: 'User',
    secret: 'password',
    power: 'role deletedAt',
    plain: 'id username logoUrl displayName createdAt updatedAt',
  },
  vaultwarden: {
    table: 'users',
    secret:
      'password_hash salt password_hint private_key totp_secret totp_recover security_stamp email_new_token api_key akey',
    power: 'verified_at enabled',
    plain:
      'uuid created_at updated_at email name password_iterations public_key equivalent_domains excluded_globals client_kdf_type client_kdf_iter last_verifying_at login_verify_count email_new stamp_exception avatar_color client_kdf_memory client_kdf_parallelism external_id',
  },
  whitehall: {
    table: 'users',
    secret: '',
    power: 'disabled permissions uid',
    plain: 'created_at email name organisation_slug remotely_signed_out updated_at version',
  },
  wordpress: {
    table: 'wp_users',
    secret: 'user_pass user_activation_key',
    power: 'user_status',
    plain: 'ID user_login user_nicename user_email user_url user_registered display_name',
  },
  zabbix: {
    table: 'users',
    secret: 'passwd',
    power: 'attempt_failed attempt_ip attempt_clock roleid',
    plain:
      'userid username name surname url autologin autologout lang refresh theme rows_per_page timezone userdirectoryid ts_provisioned',
  },
}

/** The same of tables of sessions, tokens and codes. */
export const TOKEN_COLUMNS: Readonly<Record<string, ToldColumns>> = {
  'mastodon oauth_access_tokens': {
    table: 'oauth_access_tokens',
    secret: 'token refresh_token',
    power: 'scopes',
    plain: 'expires_in revoked_at created_at application_id resource_owner_id',
  },
  'mastodon oauth_access_grants': {
    table: 'oauth_access_grants',
    secret: 'token',
    power: 'scopes',
    plain: 'expires_in redirect_uri created_at revoked_at application_id resource_owner_id',
  },
  'rubygems.org api_keys': {
    table: 'api_keys',
    secret: 'hashed_key mfa',
    power: 'scopes',
    plain:
      'created_at expires_at last_accessed_at name owner_id owner_type soft_deleted_at soft_deleted_rubygem_name updated_at',
  },
  'hcb user_sessions': {
    table: 'user_sessions',
    secret: 'session_token_bidx session_token_ciphertext',
    power: '',
    plain:
      'created_at device_info expiration_at fingerprint impersonated_by_id ip last_seen_at latitude longitude os_info signed_out_at timezone updated_at user_id verified webauthn_credential_id',
  },
  'hcb oauth_device_grants': {
    table: 'oauth_device_grants',
    secret: 'device_code user_code',
    power: 'scopes',
    plain: 'application_id created_at expires_in last_polling_at resource_owner_id',
  },
  'hcb user_totps': {
    table: 'user_totps',
    secret: 'secret_ciphertext',
    power: '',
    plain: 'aasm_state created_at deleted_at last_used_at updated_at user_id',
  },
  'monica sessions': {
    table: 'sessions',
    secret: 'payload',
    power: '',
    plain: 'id ip_address user_agent last_activity',
  },
  'koel personal_access_tokens': {
    table: 'personal_access_tokens',
    secret: 'token',
    power: '',
    plain: 'id tokenable name abilities last_used_at expires_at',
  },
  'dub Session': {
    table: 'Session',
    secret: 'sessionToken',
    power: '',
    plain: 'id userId expires',
  },
  'synapse access_tokens': {
    table: 'access_tokens',
    secret: '',
    power: '',
    plain: 'valid_until_ms puppets_user_id last_validated refresh_token_id used',
  },
  'authelia totp_configurations': {
    table: 'totp_configurations',
    secret: 'secret',
    power: '',
    plain: 'id username issuer algorithm digits period created_at last_used_at',
  },
  'openstreetmap-website oauth_access_grants': {
    table: 'oauth_access_grants',
    secret: 'token',
    power: 'scopes',
    plain:
      'id resource_owner_id application_id expires_in redirect_uri created_at revoked_at code_challenge code_challenge_method',
  },
  'formbricks oauthAccessToken': {
    table: 'oauthAccessToken',
    secret: 'token',
    power: 'scopes',
    plain:
      'id clientId sessionId userId referenceId refreshId expiresAt createdAt authorizationCodeId resources requestedUserInfoClaims revoked confirmation',
  },
  'lago-api api_keys': {
    table: 'api_keys',
    secret: 'value',
    power: 'permissions',
    plain: 'id organization_id created_at updated_at expires_at last_used_at name',
  },
  'ejabberd oauth_token': {
    table: 'oauth_token',
    secret: 'token',
    power: '',
    plain: 'jid scope expire',
  },
  'roundcubemail session': {
    table: 'session',
    secret: 'vars',
    power: '',
    plain: 'sess_id expires_at ip created changed',
  },
  'vaultwarden twofactor': {
    table: 'twofactor',
    secret: 'data',
    power: '',
    plain: 'uuid user_uuid type enabled last_used atype',
  },
  'auth oauth_authorizations': {
    table: 'oauth_authorizations',
    secret: 'authorization_code',
    power: '',
    plain:
      'id authorization_id client_id user_id redirect_uri scope state resource code_challenge created_at expires_at approved_at',
  },
  'auth webauthn_credentials': {
    table: 'webauthn_credentials',
    secret: '',
    power: '',
    plain:
      'id user_id credential_id public_key attestation_type aaguid sign_count transports backup_eligible backed_up friendly_name created_at updated_at last_used_at',
  },
  'musicbrainz-server editor_oauth_token': {
    table: 'editor_oauth_token',
    secret: 'authorization_code refresh_token access_token mac_key',
    power: '',
    plain: 'id editor application expire_time scope granted code_challenge code_challenge_method mac_time_diff',
  },
  'lago-api invites': {
    table: 'invites',
    secret: 'token',
    power: 'roles',
    plain: 'id organization_id membership_id email status accepted_at revoked_at created_at updated_at',
  },
  'maybe sessions': {
    table: 'sessions',
    secret: 'data',
    power: '',
    plain:
      'user_id user_agent ip_address created_at updated_at active_impersonator_session_id subscribed_at prev_transaction_page_params',
  },
  'redmine oauth_access_tokens': {
    table: 'oauth_access_tokens',
    secret: 'token refresh_token previous_refresh_token',
    power: 'scopes',
    plain: 'resource_owner_id application expires_in revoked_at created_at',
  },
  'firefly-iii oauth_device_codes': {
    table: 'oauth_device_codes',
    secret: 'user_code',
    power: 'scopes',
    plain: 'id user_id client_id revoked user_approved_at last_polled_at expires_at',
  },
  'firefly-iii sessions': {
    table: 'sessions',
    secret: 'payload',
    power: '',
    plain: 'id user_id ip_address user_agent last_activity',
  },
}
