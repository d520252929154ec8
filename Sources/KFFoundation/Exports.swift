// A program that has Foundation needs this import alone.
@_exported import Foundation
@_exported import KFCore
