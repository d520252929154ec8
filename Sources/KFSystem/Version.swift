/// The version of kf. A release's tag has the same number.
package enum Version {
    package static let number = "0.1.0"
}
