import Glibc
import KFCore

/// What the user wrote as a source: a URL, a path, a data: URI, or `-`.
enum SourceArgument {
    static let standardInput = "-"

    /// Of anything but standard input, which takes its time.
    static func source(_ text: String) throws(KingfisherError) -> Source {
        if text.isEmpty { throw .sourceError(reason: .emptySource) }
        let lower = text.prefix(8).lowercased()
        if lower.hasPrefix("data:") { return .provider(try DataURI.provider(text)) }
        if lower.hasPrefix("file:") { return .provider(try LocalFileImageDataProvider(fileURL: text)) }
        if text.contains("://") { return .network(try RequestURL(RawText.percentEscaped(text))) }
        do {
            return .provider(try LocalFileImageDataProvider(path: text))
        } catch {
            // `example.com/cat.jpg` is how people write URLs.
            let host = text.prefix { $0 != "/" }
            let isName = ImageFormat.allCases.contains { text.hasSuffix("." + $0.fileExtension) } && host == text
            guard host.contains(".") || host.hasPrefix("http"), !isName, !text.hasPrefix("."), !text.contains("*")
            else { throw error }
            throw .sourceError(reason: .dataProviderError(detail: "\(error.message); a URL begins with https://"))
        }
    }

    /// The cache key; a key that is shown by another command stands for itself.
    static func key(_ text: String) throws(KingfisherError) -> String { try cachedSource(text).cacheKey }

    /// The source as the cache knows it: also one that is not there any more, by its key.
    static func cachedSource(_ text: String) throws(KingfisherError) -> Source {
        let isKey =
            text.hasPrefix("sha256:") || text.contains("#user=")
            || text.hasPrefix("file://") && text.contains("?size=")
        return isKey ? .provider(RawImageDataProvider(data: [], cacheKey: text)) : try source(text)
    }

    /// What messages call it, before it is understood.
    static func name(_ text: String) -> String {
        if text == standardInput { return "standard input" }
        if text.prefix(5).lowercased() == "data:" { return "data: URI" }
        return RequestURL.redacted(text)
    }
}
