/// A source that gives nothing but an error: what a caller has named cannot be asked for.
package struct FailedSource: ImmediateImageDataProvider {
    package let name: String
    private let error: KingfisherError

    package init(name: String, error: KingfisherError) {
        self.name = name
        self.error = error
    }

    package var cacheKey: String { name }

    package func data() throws(KingfisherError) -> [UInt8] { throw error }
}
