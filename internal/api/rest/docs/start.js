SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [SwaggerUIBundle.plugins.DownloadUrl],
  layout: "BaseLayout",
  docExpansion: "list",
  defaultModelsExpandDepth: 1,
  showExtensions: true,
  showCommonExtensions: true,
  validatorUrl: null,
});
