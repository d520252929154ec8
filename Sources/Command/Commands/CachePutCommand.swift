import KFCore

enum CachePutCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let common = try CommonSettings(arguments)
        guard arguments.operands.count == 1, let file = arguments.operands.first else {
            throw UsageError(message: "'kf cache put' needs one file, or - for standard input")
        }
        guard let given = try arguments[Options.putKey] else {
            throw UsageError(message: "'kf cache put' needs the URL or key to store under: --key URL")
        }
        let key = try key(given)
        var options = KingfisherOptions()
        options.forceRefresh = true
        options.waitForCache = true
        options.expectedHash = try arguments[Options.hash]
        options.memoryCacheExpiration = .expired
        if let expiration = try arguments[Options.expire] {
            guard !expiration.isExpired(at: .now()) else {
                throw UsageError(message: "with --expire \(arguments.text(of: Options.expire) ?? "") nothing is stored")
            }
            options.diskCacheExpiration = expiration
        }
        if let extending = try arguments[Options.extend] { options.diskCacheAccessExtendingExpiration = extending }
        if let check = try RetrievalSettings.check(arguments) { options.check = check }
        let (tags, synchronizes) = (try TagWriter(arguments), try arguments[Options.fsync])
        let cache = common.cache(sizeLimit: try arguments[Options.maxSize], access: .create) {
            $0.synchronizes = synchronizes
        }
        let manager = KingfisherManager(cache: cache)
        let status = Blocking.wait { [options] in
            do throws(KingfisherError) {
                return try await store(file, key: key, options, tags, manager, common)
            } catch {
                common.report(error, for: SourceArgument.name(file))
                return error.status
            }
        }
        manager.shutdownNow()
        return status
    }

    /// Returns the cache key: that of the URL, or the given key as `fetch --key` stores it.
    private static func key(_ given: String) throws(UsageError) -> String {
        let start = given.prefix(8).lowercased()
        guard start.hasPrefix("http://") || start.hasPrefix("https://") else { return GivenKey.cacheKey(given) }
        do { return try RequestURL(RawText.percentEscaped(given)).cacheKey } catch {
            throw UsageError(message: "--key: \(error.message)")
        }
    }

    private static func store(
        _ file: String, key: String, _ options: KingfisherOptions, _ tags: TagWriter?, _ manager: KingfisherManager,
        _ common: CommonSettings
    ) async throws(KingfisherError) -> ExitStatus {
        let source: Source =
            file == SourceArgument.standardInput
            ? .provider(try await StandardInput.read(cacheKey: key))
            : .provider(try LocalFileImageDataProvider(path: file, cacheKey: key))
        let result = try await manager.retrieveImage(with: source, options: options)
        if let error = result.storing.diskError { throw error }
        guard let path = result.cachedPath else {
            throw try await manager.cache.diskProblem() ?? .cacheError(reason: .imageNotExisting(key: key))
        }
        tags?.note(result)
        let status = tags?.flush(to: manager.cache, common) ?? .success
        guard common.json else {
            Terminal.print(path)
            return status
        }
        var selection = CacheSelection()
        selection.keys = KeyChoice(keys: [key])
        selection.identifier = ""
        for entry in try await manager.cache.entries(selection) where entry.name.key == key {
            Terminal.print(JSONObject(entry, EntryTable.fields).json)
        }
        return status
    }
}
