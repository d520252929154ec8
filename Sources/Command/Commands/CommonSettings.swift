import KFCore

/// The settings that every command makes of its common options and the environment.
struct CommonSettings: Sendable {
    let json: Bool
    let quiet: Bool
    let verbose: Bool
    /// Empty when there is no cache.
    let cacheDirectory: String
    private let trustsOwner: Bool

    /// `allowsNoCache`: without HOME and `--cache-dir`, the command works uncached and warns.
    init(_ arguments: ParsedArguments, allowsNoCache: Bool = false) throws(UsageError) {
        json = try arguments[Options.json]
        quiet = try arguments[Options.quiet]
        verbose = try arguments[Options.verbose]
        trustsOwner = arguments.environment["KF_TRUST_CACHE_DIR"].map { !$0.isEmpty && $0 != "0" } ?? false
        guard
            let directory = try arguments[Options.cacheDir]
                ?? ImageCache.defaultDirectory(environment: arguments.environment)
                ?? (allowsNoCache ? "" : nil)
        else {
            throw UsageError(
                message: "HOME is not set, so there is no default cache; give a directory with --cache-dir")
        }
        guard RawText.isPlain(directory) else {
            throw UsageError(message: "the name of the cache directory must be UTF-8, not '\(directory)'")
        }
        cacheDirectory = directory
    }

    func cache(
        sizeLimit: Int64?, access: ImageCache.Access, _ change: (inout ImageCache.Configuration) -> Void = { _ in }
    ) -> ImageCache {
        var configuration = ImageCache.Configuration(directory: cacheDirectory)
        configuration.trustsOwner = trustsOwner
        configuration.access = access
        if let sizeLimit { configuration.diskSizeLimit = sizeLimit }
        configuration.notice = { warn($0) }
        if cacheDirectory.isEmpty {
            configuration.directory = nil
            warn("HOME is not set, so nothing is cached; --cache-dir names a directory")
        }
        change(&configuration)
        return ImageCache(configuration)
    }

    /// Does the work of a command on the cache, and reports the error that ends it. Blocks.
    func onCache(
        sizeLimit: Int64? = nil, access: ImageCache.Access,
        _ change: (inout ImageCache.Configuration) -> Void = { _ in },
        _ work: @escaping @Sendable (ImageCache) async throws(KingfisherError) -> ExitStatus
    ) -> ExitStatus {
        let cache = cache(sizeLimit: sizeLimit, access: access, change)
        return Blocking.wait {
            do throws(KingfisherError) { return try await work(cache) } catch {
                if error.isClosedOutput { return .success }
                report(error, for: nil)
                return error.status
            }
        }
    }

    /// Prints a warning, unless `-q` is set. Of warnings that differ only in their subject, ten are printed, and all with
    /// `-v`.
    func warn(_ text: String, about name: String? = nil) {
        guard !quiet, verbose || Session.current.messages.admits("kf: warning: ", text) else { return }
        let subject = name.map { "\(Self.shortened($0)): " } ?? ""
        Terminal.printError("kf: warning: \(Terminal.visible(subject + text))")
    }

    /// Prints one line on standard error: the subject, the part of it that failed if it is a part, the reason, and the
    /// error's code. Of messages that differ only in their subject, ten are printed, and all with `-v`.
    func report(_ error: KingfisherError, for name: String?, about part: String? = nil, hint: String? = nil) {
        let advice = (hint ?? error.advice).map { "; \($0)" } ?? ""
        let reason = "\(part.map { "\($0): " } ?? "")\(error.messageNow)\(advice) [\(error.errorCode)]"
        guard let name else { return Terminal.printFailure("kf: \(Terminal.visible(reason))") }
        let code = "\(error.errorCode) \(error.httpStatus ?? 0) "
        guard verbose || Session.current.messages.admits("kf: ", reason, code: code) else { return }
        Terminal.printFailure("kf: \(Terminal.visible("\(Self.shortened(name)): \(reason)"))")
    }

    /// Shortens a URL of kilobytes, which would fill the screen.
    private static func shortened(_ name: String) -> String {
        name.count > 300 ? "\(name.prefix(200))…\(name.suffix(60))" : name
    }
}

extension KingfisherError {
    var status: ExitStatus { isCacheFailure ? .cacheFailed : .someFailed }

    /// The hash that an image must have, and the one that it has; nil for any other error.
    var hashes: (expected: String, found: String)? {
        guard case .responseError(reason: .unexpectedContent(let expected, let found, _)) = self else { return nil }
        return (expected, found)
    }

    /// The option that helps after this error; nil when none does.
    var advice: String? {
        if isRemembered { return "use --retry-failed to ask again" }
        if reasonName == "diskIsFull" {
            return "kf cache clean --max-size SIZE makes room, and --store none goes without the cache"
        }
        if case .processorError(reason: .processingFailed(_, let detail)) = self,
            detail == ImagingError.transparencyNeedsBackground(.jpeg).message
        {
            return "--background COLOUR sets one"
        }
        return isExpiredImage ? "use --offline to serve it" : nil
    }
}
