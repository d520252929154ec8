/// What has to be known of a partial body to continue it.
package struct PartialFacts: Equatable, Sendable {
    /// The URL that was requested, without user info.
    package let url: String
    /// The URL that answered, after redirects. A validator says nothing about the bytes at another one.
    package let location: String
    /// The digest of the request: its URL with every header that can change the answer.
    package let request: Digest
    /// A strong entity tag with its quotes, else a strong date of last modification.
    package let validator: String
    /// The Content-Type of the answer; nil when it had none.
    package let contentType: String?
    /// Of the whole body, in bytes, if the origin said it.
    package let total: Int64?

    package init(
        url: String, location: String, request: Digest, validator: String, contentType: String?, total: Int64?
    ) {
        self.url = url
        self.location = location
        self.request = request
        self.validator = validator
        self.contentType = contentType
        self.total = total
    }
}
