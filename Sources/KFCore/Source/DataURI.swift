import KFStorage
import KFSystem

/// A `data:` URI (RFC 2397).
public enum DataURI {
    /// The bytes that the URI holds; its media type is not believed. Throws `dataProviderError` (5003).
    public static func provider(_ uri: String, cacheKey: String? = nil) throws(KingfisherError) -> RawImageDataProvider
    {
        guard let comma = uri.firstIndex(of: ",") else { throw failure("the data: URI has no comma") }
        let head = uri[..<comma].lowercased()
        let body = uri[uri.index(after: comma)...]
        guard head.hasSuffix(";base64") else {
            return RawImageDataProvider(data: PercentCoding.decodeBytes(body), cacheKey: cacheKey, name: "data: URI")
        }
        // RFC 2397 allows escapes inside the base 64; line breaks come from pasting.
        let text = String(decoding: PercentCoding.decodeBytes(body), as: UTF8.self).filter { !$0.isWhitespace }
        let padded = text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Base64.decode(padded) else { throw failure("the data: URI is not valid base 64") }
        return RawImageDataProvider(data: data, cacheKey: cacheKey, name: "data: URI")
    }

    private static func failure(_ detail: String) -> KingfisherError {
        .sourceError(reason: .dataProviderError(detail: detail))
    }
}
