/// A redirect that a transfer has followed.
package struct Redirect: Sendable, Equatable {
    package let status: Int
    /// The redirected URL, without user info.
    package let url: String
    /// The fields that rule caches.
    package let headers: HeaderFields
    package let address: String
    /// Whether the target has user info, so that the next request carries credentials.
    package private(set) var givesCredentials = false

    /// The fields that are kept. A head may have 300 KiB, and a transfer many redirects.
    private static let kept = [FieldName.cacheControl, .expires, .date, .age, .vary, .lastModified]

    package init(
        status: Int, url: String, headers: HeaderFields = HeaderFields(), address: String = "",
        givesCredentials: Bool = false
    ) {
        self.status = status
        self.url = url
        self.headers = headers
        self.address = address
        self.givesCredentials = givesCredentials
    }

    init(_ head: ResponseHead, to target: TransferURL, address: String) {
        self.init(
            status: head.status, url: head.effectiveURL,
            headers: head.headers.only(Self.kept), address: address)
        self = leading(to: target)
    }

    func leading(to target: TransferURL) -> Redirect {
        var redirect = self
        redirect.givesCredentials = target.text != target.bare
        return redirect
    }
}
