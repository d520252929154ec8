/// What a status code says about keeping a response (RFC 9110, 15.1; RFC 9111, 3).
enum ResponseStatus {
    /// Delivered under `CachePolicy.http` when an image comes with them. The others among 200 to 299 have no body of
    /// their own: they are answers without an image.
    static let bringingImages = Set(200...299).subtracting([204, 205, 206])

    /// The final statuses that may count as fresh without explicit freshness, by their Last-Modified.
    static func isHeuristicallyFresh(_ status: Int) -> Bool {
        [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Whether the caching rules of a status are known, as `must-understand` demands.
    static func isUnderstood(_ status: Int) -> Bool {
        status == 200 || status == 203 || HTTPStatus.phrase(status) != nil
    }

    /// False for answers to the headers of one request (a range, a condition, a password), and for those that must not
    /// be kept by their definition (RFC 6585).
    static func isStorable(_ status: Int) -> Bool {
        ![206, 304, 401, 407, 412, 416, 417, 428, 429, 431, 511].contains(status)
    }
}
