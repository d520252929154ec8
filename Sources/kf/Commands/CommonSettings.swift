import Glibc
import KFCore

/// What every command makes of its shared options and the environment.
struct CommonSettings: Sendable {
    let json: Bool
    let quiet: Bool
    let verbose: Bool
    let cacheDirectory: String
    private let trustsOwner: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        let environment = Environment.current
        json = arguments.flag("json")
        quiet = arguments.flag("quiet")
        verbose = arguments.flag("verbose")
        trustsOwner = environment["KF_TRUST_CACHE_DIR"].map { !$0.isEmpty && $0 != "0" } ?? false
        if arguments.value("cache-dir") == "" { throw UsageError(message: "--cache-dir needs a directory") }
        guard let directory = arguments.value("cache-dir") ?? ImageCache.defaultDirectory(environment: environment)
        else {
            throw UsageError(message: "there is no HOME to keep a cache in; name a directory with --cache-dir")
        }
        guard RawText.isPlain(directory) else {
            throw UsageError(message: "the cache's directory must have a name in UTF-8, not '\(directory)'")
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
        let quiet = quiet
        configuration.notice = { text in
            if !quiet { Terminal.printError("kf: warning: \(Terminal.visible(text))") }
        }
        change(&configuration)
        return ImageCache(configuration)
    }

    /// One line on stderr: what, what happened, and the number to look it up by.
    func report(_ error: KingfisherError, for name: String?, hint: String? = nil) {
        let subject = name.map { "\(Self.shortened($0)): " } ?? ""
        let text = subject + error.message + (hint.map { "; \($0)" } ?? "")
        Terminal.printFailure("kf: \(Terminal.visible(text)) [\(error.errorCode)]")
    }

    /// A URL of kilobytes is not what somebody wants to read.
    private static func shortened(_ name: String) -> String {
        name.count > 300 ? "\(name.prefix(200))…\(name.suffix(60))" : name
    }
}

/// The process's environment variables.
enum Environment {
    static let current = {
        var result: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let text = RawText.decode(entry)
            if let mark = text.firstIndex(of: "=") {
                result[String(text[..<mark])] = String(text[text.index(after: mark)...])
            }
            next += 1
        }
        return result
    }()
}
